-- rpd_tracer: two processes whose ops name no process; a kernel, a copy, a
-- marker, a sample, an op that no call is known for.
CREATE TABLE "rocpd_string" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "string" varchar(4096) NOT NULL);
INSERT INTO rocpd_string VALUES (1,'hipLaunchKernel'),(2,''),(3,'hipMemcpyAsync'),(4,'size=4096'),(5,'KernelExecution'),(6,'add(float*)'),(7,'CopyHostToDevice'),(8,'UserMarker'),(9,'forward'),(10,'Barrier');
CREATE TABLE "rocpd_api" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "pid" integer NOT NULL, "tid" integer NOT NULL, "start" integer NOT NULL, "end" integer NOT NULL, "apiName_id" integer NOT NULL, "args_id" integer NOT NULL);
INSERT INTO rocpd_api VALUES (1,10,11,100,110,1,2),(2,20,21,105,120,3,4),(3,10,11,90,300,8,9);
CREATE TABLE "rocpd_op" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "gpuId" integer NOT NULL, "queueId" integer NOT NULL, "sequenceId" integer NOT NULL, "completionSignal" varchar(18) NOT NULL, "start" integer NOT NULL, "end" integer NOT NULL, "description_id" integer NOT NULL, "opType_id" integer NOT NULL);
INSERT INTO rocpd_op VALUES (1,0,2,0,'',130,150,6,5),(2,1,0,5,'',140,160,2,7),(3,1,0,0,'',170,171,2,10);
CREATE TABLE "rocpd_api_ops" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "api_id" integer NOT NULL, "op_id" integer NOT NULL);
INSERT INTO rocpd_api_ops VALUES (1,1,1),(2,2,2);
CREATE TABLE "rocpd_kernelapi" ("api_ptr_id" integer NOT NULL PRIMARY KEY, "stream" varchar(18) NOT NULL, "gridX" integer, "gridY" integer, "gridZ" integer, "workgroupX" integer, "workgroupY" integer, "workgroupZ" integer, "groupSegmentSize" integer, "privateSegmentSize" integer, "kernelName_id" integer);
INSERT INTO rocpd_kernelapi VALUES (1,'0x5581',16,2,1,64,1,1,1024,0,6);
CREATE TABLE "rocpd_copyapi" ("api_ptr_id" integer NOT NULL PRIMARY KEY, "stream" varchar(18) NOT NULL, "size" integer, "width" integer, "height" integer, "kind" integer, "dst" varchar(18), "src" varchar(18));
INSERT INTO rocpd_copyapi VALUES (2,'0x0',4096,0,0,1,'0x7f00','0x5500');
CREATE TABLE "rocpd_monitor" ("id" integer PRIMARY KEY, "deviceType" varchar(16), "deviceId" integer, "monitorType" varchar(16), "start" integer, "end" integer, "value" varchar(255));
INSERT INTO rocpd_monitor VALUES (1,'gpu',0,'power',95,195,'212.5');
CREATE TABLE "rocpd_metadata" ("id" integer PRIMARY KEY, "tag" varchar(4096), "value" varchar(4096));
INSERT INTO rocpd_metadata VALUES (1,'schema_version','2');
CREATE TABLE "rocpd_kernelcodeobject" ("id" integer, "vgpr" integer);
INSERT INTO rocpd_kernelcodeobject VALUES (0,0);
CREATE VIEW "api" AS SELECT * FROM rocpd_api;
-- want
counter 95 name="power" device="gpu0" value=212.5
api 110 pid=10 tid=11 api=hip name="hipLaunchKernel" kernel_name="add(float*)" grid_x=16 grid_y=2 grid_z=1 block_x=64 block_y=1 block_z=1 shared_mem_bytes=1024 stream=21889 correlation_id=1 start=100
api 120 pid=20 tid=21 api=hip name="hipMemcpyAsync" stream=0 bytes=4096 direction=HtoD correlation_id=2 start=105
gpu_activity 150 pid=10 activity=kernel name="add(float*)" device="gpu0" start=130 stream=2 correlation_id=1 args="{\"op_type\":\"KernelExecution\"}"
gpu_activity 160 pid=20 activity=memcpy name="CopyHostToDevice" device="gpu1" start=140 stream=0 correlation_id=2 direction=HtoD args="{\"sequence_id\":5}"
gpu_activity 171 activity=other name="Barrier" device="gpu1" start=170 stream=0
slice 300 pid=10 tid=11 name="forward" category="roctx" start=90
-- counted
rocm_not_read 1
