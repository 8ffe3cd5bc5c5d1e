-- rocpd, schema 3: two processes on two machines, each with tables of its own
-- suffix. In the first a launch with its arguments, its kernel (130 work items
-- are three groups of 64), a copy of the same process, a range, an instant, an
-- allocation, a counter of the kernel and a sample that is a counter's time. In
-- the second, whose numbers are the same, a kernel of the default stream: its
-- queue tells more. A kernel's symbol, a process and a time are missing there.
CREATE TABLE "rocpd_metadata_1" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "tag" TEXT NOT NULL, "value" TEXT NOT NULL);
INSERT INTO rocpd_metadata_1 VALUES (1,'schema_version','3');
CREATE TABLE "rocpd_string_1" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "guid" TEXT, "string" TEXT NOT NULL);
INSERT INTO rocpd_string_1 VALUES (1,'g','HIP_RUNTIME_API'),(2,'g','hipLaunchKernel'),(3,'g','KERNEL_DISPATCH'),(4,'g','MEMORY_COPY'),(5,'g','MEMORY_COPY_HOST_TO_DEVICE'),(6,'g','MARKER_CORE_API'),(7,'g','roctxRangePushA'),(8,'g','MEMORY_ALLOCATION'),(9,'g','hipMemcpyAsync');
CREATE TABLE "rocpd_info_node_1" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "guid" TEXT, "hash" BIGINT, "machine_id" TEXT, "system_name" TEXT, "hostname" TEXT, "release" TEXT, "version" TEXT, "hardware_name" TEXT, "domain_name" TEXT);
INSERT INTO rocpd_info_node_1 VALUES (77,'g',1,'aaa','Linux','n1','6.8','#1','x86_64','');
CREATE TABLE "rocpd_info_process_1" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "guid" TEXT, "nid" INTEGER, "ppid" INTEGER, "pid" INTEGER, "init" BIGINT, "fini" BIGINT, "start" BIGINT, "end" BIGINT, "command" TEXT, "environment" JSONB, "extdata" JSONB);
INSERT INTO rocpd_info_process_1 VALUES (10,'g',77,9,10,50,900,50,900,'/usr/bin/python3 train.py','{"SECRET":"x"}','{}');
CREATE TABLE "rocpd_info_thread_1" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "guid" TEXT, "nid" INTEGER, "ppid" INTEGER, "pid" INTEGER, "tid" INTEGER, "name" TEXT, "start" BIGINT, "end" BIGINT, "extdata" JSONB);
INSERT INTO rocpd_info_thread_1 VALUES (11,'g',77,9,10,11,NULL,NULL,NULL,'{}'),(12,'g',77,9,10,12,'loader',NULL,NULL,'{}');
CREATE TABLE "rocpd_info_agent_1" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "guid" TEXT, "nid" INTEGER, "pid" INTEGER, "type" TEXT, "absolute_index" INTEGER, "logical_index" INTEGER, "type_index" INTEGER, "uuid" INTEGER, "name" TEXT, "model_name" TEXT, "vendor_name" TEXT, "product_name" TEXT, "user_name" TEXT, "extdata" JSONB);
INSERT INTO rocpd_info_agent_1 VALUES (1,'g',77,10,'CPU',0,0,0,0,'CPU','','AMD','EPYC','','{}'),(4,'g',77,10,'GPU',4,1,0,5,'gfx942','','AMD','MI300X','MI300X','{"location_id":1280,"domain":1}');
CREATE TABLE "rocpd_info_queue_1" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "name" TEXT);
INSERT INTO rocpd_info_queue_1 VALUES (0,'Default Queue'),(2,'Queue 0');
CREATE TABLE "rocpd_info_stream_1" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "name" TEXT);
INSERT INTO rocpd_info_stream_1 VALUES (0,'Default Stream'),(3,'Stream 0');
CREATE TABLE "rocpd_info_code_object_1" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "uri" TEXT);
INSERT INTO rocpd_info_code_object_1 VALUES (1,'file://x'),(2,'file://y');
CREATE TABLE "rocpd_info_kernel_symbol_1" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "kernel_name" TEXT, "display_name" TEXT);
INSERT INTO rocpd_info_kernel_symbol_1 VALUES (3,'_Z3addPf.kd','add(float*)'),(4,'mul.kd','');
CREATE TABLE "rocpd_info_pmc_1" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "agent_id" INTEGER, "name" TEXT, "symbol" TEXT, "units" TEXT);
INSERT INTO rocpd_info_pmc_1 VALUES (1,4,'SQ_WAVES','SQ_WAVES',''),(2,4,'power','power','W');
CREATE TABLE "rocpd_track_1" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "nid" INTEGER, "pid" INTEGER, "tid" INTEGER, "name_id" INTEGER);
INSERT INTO rocpd_track_1 VALUES (1,77,10,11,6);
CREATE TABLE "rocpd_event_1" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "category_id" INTEGER, "stack_id" INTEGER, "parent_stack_id" INTEGER, "correlation_id" INTEGER, "extdata" JSONB);
INSERT INTO rocpd_event_1 VALUES (1,1,2,0,0,'{}'),(2,1,3,0,0,'{}'),(3,6,5,0,0,'{"message":"forward"}'),(4,6,6,0,0,'{"message":"step 1"}'),(5,3,2,2,0,'{}'),(6,4,3,3,0,'{}'),(7,8,8,0,0,'{}'),(8,NULL,0,0,0,'{}');
CREATE TABLE "rocpd_arg_1" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "event_id" INTEGER, "position" INTEGER, "type" TEXT, "name" TEXT, "value" TEXT);
INSERT INTO rocpd_arg_1 VALUES (1,2,0,'size_t','sizeBytes','4096'),(2,2,1,'hipStream_t','stream','0x10'),(3,1,0,'const void*','function_address','0x7f10');
CREATE TABLE "rocpd_region_1" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "guid" TEXT, "nid" INTEGER, "pid" INTEGER, "tid" INTEGER, "start" BIGINT, "end" BIGINT, "name_id" INTEGER, "event_id" INTEGER, "extdata" JSONB);
INSERT INTO rocpd_region_1 VALUES (2,'g',77,10,11,200,220,2,1,'{}'),(3,'g',77,10,12,230,240,9,2,'{}'),(5,'g',77,10,11,190,400,7,3,'{}');
CREATE TABLE "rocpd_sample_1" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "track_id" INTEGER, "timestamp" BIGINT, "event_id" INTEGER);
INSERT INTO rocpd_sample_1 VALUES (6,1,195,4),(7,1,600,8);
CREATE TABLE "rocpd_kernel_dispatch_1" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "nid" INTEGER, "pid" INTEGER, "tid" INTEGER, "agent_id" INTEGER, "kernel_id" INTEGER, "dispatch_id" INTEGER, "queue_id" INTEGER, "stream_id" INTEGER, "start" BIGINT, "end" BIGINT, "private_segment_size" INTEGER, "group_segment_size" INTEGER, "workgroup_size_x" INTEGER, "workgroup_size_y" INTEGER, "workgroup_size_z" INTEGER, "grid_size_x" INTEGER, "grid_size_y" INTEGER, "grid_size_z" INTEGER, "event_id" INTEGER);
INSERT INTO rocpd_kernel_dispatch_1 VALUES (1,77,10,11,4,3,1,2,3,1715583600123456789,1715583600123456790,8,512,64,2,1,130,2,1,5);
CREATE TABLE "rocpd_memory_copy_1" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "nid" INTEGER, "pid" INTEGER, "tid" INTEGER, "start" BIGINT, "end" BIGINT, "name_id" INTEGER, "dst_agent_id" INTEGER, "src_agent_id" INTEGER, "size" INTEGER, "queue_id" INTEGER, "stream_id" INTEGER, "event_id" INTEGER);
INSERT INTO rocpd_memory_copy_1 VALUES (1,77,10,12,242,250,5,4,1,4096,NULL,0,6);
CREATE TABLE "rocpd_memory_allocate_1" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "nid" INTEGER, "pid" INTEGER, "tid" INTEGER, "agent_id" INTEGER, "type" TEXT, "level" TEXT, "start" BIGINT, "end" BIGINT, "address" INTEGER, "size" INTEGER, "queue_id" INTEGER, "stream_id" INTEGER, "event_id" INTEGER);
INSERT INTO rocpd_memory_allocate_1 VALUES (1,77,10,11,4,'ALLOC','REAL',260,265,32512,64,0,0,7);
CREATE TABLE "rocpd_pmc_event_1" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "event_id" INTEGER, "pmc_id" INTEGER, "value" REAL);
INSERT INTO rocpd_pmc_event_1 VALUES (1,5,1,12.0),(2,8,2,212.5);
CREATE TABLE "rocpd_info_node_2" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "machine_id" TEXT, "hostname" TEXT);
INSERT INTO rocpd_info_node_2 VALUES (77,'bbb','n2');
CREATE TABLE "rocpd_info_process_2" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "nid" INTEGER, "pid" INTEGER, "command" TEXT);
INSERT INTO rocpd_info_process_2 VALUES (10,77,10,'./a.out');
CREATE TABLE "rocpd_kernel_dispatch_2" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "nid" INTEGER, "pid" INTEGER, "agent_id" INTEGER, "kernel_id" INTEGER, "queue_id" INTEGER, "stream_id" INTEGER, "start" BIGINT, "end" BIGINT, "event_id" INTEGER);
INSERT INTO rocpd_kernel_dispatch_2 VALUES (1,77,10,4,3,2,0,300,310,5),(2,77,33,4,3,2,0,NULL,NULL,5);
CREATE VIEW "rocpd_region" AS SELECT * FROM rocpd_region_1;
-- want
process - pid=10 name="python3" cmdline="/usr/bin/python3 train.py" ppid=9 start=50 host="n1"
thread - pid=10 tid=12 name="loader"
device - device="0001:05:00.0" name="MI300X" driver="amdgpu" ordinal=0 host="n1" args="{\"arch\":\"gfx942\"}"
process - pid=10 name="a.out" cmdline="./a.out" host="n2" domain=1
gpu_activity 310 pid=10 activity=kernel name="kernel 3" start=300 stream=2 domain=1
gpu_activity - activity=kernel name="kernel 3" stream=2 domain=1
mark 195 pid=10 tid=11 name="step 1" category="roctx"
api 220 pid=10 tid=11 api=hip name="hipLaunchKernel" correlation_id=2 start=200 args="{\"function_address\":\"0x7f10\"}"
api 240 pid=10 tid=12 api=hip name="hipMemcpyAsync" stream=16 bytes=4096 correlation_id=3 start=230
gpu_activity 250 pid=10 activity=memcpy name="MEMORY_COPY_HOST_TO_DEVICE" device="0001:05:00.0" start=242 stream=0 correlation_id=3 bytes=4096 direction=HtoD
other 260 pid=10 tid=11 name="memory_alloc" args="{\"end\":265,\"level\":\"real\",\"device\":\"0001:05:00.0\",\"address\":32512,\"bytes\":64,\"correlation_id\":8}"
slice 400 pid=10 tid=11 name="forward" category="roctx" start=190
counter 600 name="power" unit="W" device="0001:05:00.0" value=212.5
counter 1715583600123456790 name="SQ_WAVES" device="0001:05:00.0" value=12
gpu_activity 1715583600123456790 pid=10 activity=kernel name="add(float*)" device="0001:05:00.0" start=1715583600123456789 stream=3 correlation_id=2 grid_x=3 grid_y=1 grid_z=1 block_x=64 block_y=2 block_z=1 shared_mem_bytes=512 args="{\"queue\":2,\"dispatch_id\":1,\"private_segment_size\":8}"
-- counted
rocm_name_missing 3
rocm_no_time 1
rocm_not_read 2
