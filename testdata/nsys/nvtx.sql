-- NVTX: the text stands in the row or in StringIds, by version; ranges that
-- nest, ranges that need not, marks, names of domains; one range still open.
-- globalTid is pid 10, tid 11: 10*16777216+11 = 167772171; tid 12: 167772172.
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (1,'registered');
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color INTEGER,
  text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER, doubleValue REAL, jsonText TEXT);
INSERT INTO NVTX_EVENTS VALUES
 (5,NULL,75,NULL,NULL,NULL,'CCCL',167772171,NULL,NULL,2,NULL,NULL,NULL),
 (10,50,59,NULL,NULL,NULL,'outer',167772171,NULL,NULL,0,NULL,NULL,NULL),
 (20,40,59,NULL,NULL,4294901760,NULL,167772171,NULL,1,2,NULL,NULL,NULL),
 (25,NULL,34,NULL,NULL,NULL,'here',167772171,NULL,NULL,0,3,NULL,NULL),
 (30,70,60,99,NULL,NULL,'far',167772171,167772172,NULL,0,NULL,1.5,'{"a":1}'),
 (80,NULL,59,NULL,NULL,NULL,'open',167772171,NULL,NULL,0,NULL,NULL,NULL),
 (81,NULL,77,NULL,NULL,NULL,'what',167772171,NULL,NULL,0,NULL,NULL,NULL),
 (82,NULL,34,NULL,NULL,NULL,NULL,167772171,NULL,7,0,NULL,NULL,NULL);
-- want
other 5 pid=10 tid=11 name="NVTX event type 75" args="{\"text\":\"CCCL\",\"domainId\":2}"
mark 25 pid=10 tid=11 name="here" category="nvtx" args="{\"uint64Value\":3}"
slice 40 pid=10 tid=11 name="registered" category="nvtx" args="{\"domain\":\"CCCL\",\"color\":4294901760}" start=20
slice 50 pid=10 tid=11 name="outer" category="nvtx" start=10
slice_begin 30 pid=10 tid=11 name="far" category="nvtx" track="NVTX ranges" args="{\"json\":\"{\\\"a\\\":1}\",\"doubleValue\":1.5}" slice_id=1
slice_end 70 pid=10 tid=12 name="far" category="nvtx" track="NVTX ranges" slice_id=1
slice_begin 80 pid=10 tid=11 name="open" category="nvtx"
other 81 pid=10 tid=11 name="NVTX event type 77" args="{\"text\":\"what\",\"domainId\":0}"
mark 82 pid=10 tid=11 name="string 7" category="nvtx"
-- counted
nsys_string_missing 1
