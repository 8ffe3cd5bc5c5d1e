-- Two processes with one correlation id, calls with the versions of their
-- names, copies, sets, syncs, graphs. The ids are pid<<24|tid beside
-- 1<<48 for the machine: 281474976710656 + pid*16777216 + tid.
-- pid 10: 281475144482816, tid 11 in it 281475144482827; pid 20: 281475312254976.
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (1,'cudaLaunchKernel_v7000'),(2,'void k<int>(int*)'),(3,'k'),(4,'cuMemcpyAsync'),(5,'worker "A"'),(6,'pthread_mutex_lock');
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100,110,0,281475144482827,7,1,0),(105,125,1,281475312254976,7,4,-2),(300,NULL,0,281475144482827,8,1,NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER, shortName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER,
  staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, registersPerThread INTEGER, graphNodeId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (120,150,1,1,13,7,281475144482816,2,3,4,5,6,128,1,1,64,1024,32,NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
  bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (130,140,0,1,7,7,281475312254976,4096,1,1,2);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (160,161,0,1,7,9,281475312254976,255,512);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, graphId INTEGER, graphExecId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (170,190,0,3,4,1,7,10,281475312254976);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER, eventId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (200,210,0,1,7,11,281475312254976,3,0);
CREATE TABLE ENUM_CUPTI_SYNC_TYPE (id INTEGER PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUPTI_SYNC_TYPE VALUES (3,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE','Stream sync');
CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_MEM_KIND VALUES (1,'PINNED','Pinned'),(2,'DEVICE','Device');
CREATE TABLE OSRT_API (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
INSERT INTO OSRT_API VALUES (90,95,27,281475144482827,NULL,6,0);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
INSERT INTO PROCESSES VALUES (281475144482816,10,'train');
CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
INSERT INTO ThreadNames VALUES (5,20,281475144482827);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, busLocation TEXT, totalMemory INTEGER);
INSERT INTO TARGET_INFO_GPU VALUES (0,'NVIDIA H100','0000:1B:00.0',85899345920),(1,'NVIDIA H100','0000:43:00.0',85899345920);
-- The process sees only the second GPU: its ordinal 0 would be the GPU 1, and 1 the GPU 0.
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (1,0,10),(0,1,10);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, systemClockNs INTEGER);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000001, 5000);
CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);
INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:COMMAND','python'),('PROCESS_0:ARGUMENT_1','--steps=2'),('PROCESS_0:ARGUMENT_0','train.py'),('PROCESS_0:ENVIRONMENT_VARIABLE','SECRET="x"');
CREATE TABLE SETTINGS (name TEXT);
INSERT INTO SETTINGS VALUES ('a'),('b');
CREATE TABLE NEW_EVENTS (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER, depth REAL, note TEXT);
INSERT INTO NEW_EVENTS VALUES (400,410,281475144482827,3,0.5,'x');
-- want
device - device="0000:1b:00.0" name="NVIDIA H100" driver="nvidia" ordinal=0 args="{\"total_memory\":85899345920}"
device - device="0000:43:00.0" name="NVIDIA H100" driver="nvidia" ordinal=1 args="{\"total_memory\":85899345920}"
process - pid=10 name="train"
thread - pid=10 tid=11 name="worker \"A\""
slice 95 pid=10 tid=11 name="pthread_mutex_lock" category="osrt" args="{\"returnValue\":0}" start=90
api 110 pid=10 tid=11 api=cuda_runtime name="cudaLaunchKernel_v7000" correlation_id=7 start=100 result=0
api 125 pid=20 tid=0 api=cuda_driver name="cuMemcpyAsync" correlation_id=7 start=105 result=-2
gpu_activity 140 pid=20 activity=memcpy name="Memcpy HtoD" device="0000:1b:00.0" start=130 context=1 stream=7 correlation_id=7 bytes=4096 direction=HtoD args="{\"copy_kind\":\"1\",\"src_kind\":\"Pinned\",\"dst_kind\":\"Device\"}"
gpu_activity 150 pid=10 activity=kernel name="void k<int>(int*)" device="0000:1b:00.0" start=120 context=1 stream=13 correlation_id=7 grid_x=4 grid_y=5 grid_z=6 block_x=128 block_y=1 block_z=1 shared_mem_bytes=1024 args="{\"short_name\":\"k\",\"static_shared_memory\":64,\"registers_per_thread\":32}"
gpu_activity 161 pid=20 activity=memset name="Memset" device="0000:1b:00.0" start=160 context=1 stream=7 correlation_id=9 bytes=512 args="{\"value\":255}"
gpu_activity 190 pid=20 activity=graph name="graph 3" device="0000:1b:00.0" start=170 context=1 stream=7 correlation_id=10 args="{\"graph_id\":3,\"graph_exec_id\":4}"
slice 210 pid=20 name="Stream sync" category="cuda_sync" track="CUDA synchronisation" args="{\"device\":0,\"context\":1,\"stream\":7}" start=200 correlation_id=11
api_enter 300 pid=10 tid=11 api=cuda_runtime name="cudaLaunchKernel_v7000" correlation_id=8
other 400 pid=10 tid=11 name="NEW_EVENTS" args="{\"end\":410,\"name\":\"k\",\"depth\":0.5,\"note\":\"x\"}"
-- counted
nsys_rows_not_read 2
