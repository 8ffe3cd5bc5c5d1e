-- A schema of few columns: no globalPid, no contextId, no NVTX, no copies.
-- All calls are of thread 1, of which no process is known.
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (1,'add'),(2,'cudaLaunchKernel');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, "end" INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, shortName INTEGER, gridX INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (0,1000,0,7,100,1,128),(900,800,0,7,101,1,128);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, "end" INTEGER, correlationId INTEGER, globalTid INTEGER, nameId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (-3000,-500,100,1,2),(NULL,5,101,1,2);
CREATE TABLE CUPTI_ACTIVITY_KIND_CDP_KERNEL (start INTEGER, "end" INTEGER, deviceId INTEGER, streamId INTEGER, shortName INTEGER);
CREATE TABLE GPU_METRICS (timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER);
INSERT INTO GPU_METRICS VALUES (500, 4294967297, 3, 42);
CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, metricId INTEGER, metricName TEXT);
INSERT INTO TARGET_INFO_GPU_METRICS VALUES (4294967297, 3, 'SMs Active [Throughput %]');
-- want
api -500 pid=1 tid=1 +pid_inferred api=cuda_runtime name="cudaLaunchKernel" correlation_id=100 start=-3000
api - pid=1 tid=1 +pid_inferred api=cuda_runtime name="cudaLaunchKernel" correlation_id=101
counter 500 name="SMs Active [Throughput %]" unit="%" device="gpu1" value=42
gpu_activity 1000 pid=1 +pid_inferred activity=kernel name="add" device="gpu0" start=0 stream=7 correlation_id=100 grid_x=128
gpu_activity 800 pid=1 +pid_inferred activity=kernel name="add" device="gpu0" start=900 stream=7 correlation_id=101 grid_x=128
-- counted
nsys_end_before_start 1
nsys_no_time 1
