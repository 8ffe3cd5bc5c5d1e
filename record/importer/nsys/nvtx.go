package nsys

import (
	"strconv"

	"github.com/gpurec/gpurec/record/event"
)

const (
	nvType = colFirst + iota
	nvTID
	nvEndTID
	nvText
	nvTextID
	nvRange
	nvDomain
	nvCategory
	nvColor
	nvJSON
	nvJSONID
	nvPayload // and the columns behind
)

var nvtxCols = []string{"eventType", "globalTid", "endGlobalTid", "text", "textId", "rangeId", "domainId", "category", "color",
	"jsonText", "jsonTextId", "uint64Value", "int64Value", "doubleValue", "uint32Value", "int32Value", "floatValue", "binaryData"}

// Types of NVTX events (ENUM_NSYS_EVENT_TYPE).
const (
	nvtxCategoryName = 33
	nvtxMark         = 34
	nvtxThreadName   = 39
	nvtxPushPop      = 59
	nvtxStartEnd     = 60
	nvtxDomainCreate = 75
)

// nvtx makes the event of a row. Its text stands in the row, or in the table
// of strings if the program registered it.
func (r *reader) nvtx(c *cursor) {
	text := r.cut(c.rows.Text(nvText))
	if text == "" {
		text = r.ref(c, nvTextID)
	}
	switch typ, _ := c.rows.Int(nvType); typ {
	case nvtxPushPop:
		r.pushPop(c, text)
	case nvtxStartEnd:
		r.startEnd(c, text)
	case nvtxMark:
		r.nvtxArgs(c, r.nvtxEvent(c, event.KindMark, text))
	case nvtxThreadName:
		e := r.event(c, event.KindThread)
		r.thread(e, c, nvTID)
		e.SetStr(event.FieldName, text)
	default:
		r.nvtxOther(c, typ, text)
	}
}

func (r *reader) nvtxEvent(c *cursor, k event.Kind, text string) *event.Event {
	e := r.event(c, k)
	r.thread(e, c, nvTID)
	e.SetStr(event.FieldName, text)
	e.SetStr(event.FieldCategory, "nvtx")
	return e
}

// pushPop is a range that nests in its thread; one without an end was open
// when the recording ended.
func (r *reader) pushPop(c *cursor, text string) {
	k := event.KindSlice
	if c.rows.Null(colEnd) {
		k = event.KindSliceBegin
	}
	r.nvtxArgs(c, r.nvtxEvent(c, k, text))
}

// nvtxRanges is the track of ranges that need not nest and may end in another thread.
const nvtxRanges = "NVTX ranges"

func (r *reader) startEnd(c *cursor, text string) {
	r.ranges++
	e := r.nvtxEvent(c, event.KindSliceBegin, text)
	e.SetStr(event.FieldTrack, nvtxRanges)
	e.SetUint(event.FieldSliceID, r.ranges)
	r.nvtxArgs(c, e)
	end, ok := c.rows.Int(colEnd)
	if !ok {
		return
	}
	if t := e.Time; t.Known() && event.Time(end) < t {
		r.note(&AnomalyBackwards, c)
	}
	tid := nvTID
	if !c.rows.Null(nvEndTID) {
		tid = nvEndTID
	}
	e = r.nvtxEvent(c, event.KindSliceEnd, text)
	e.Time = event.Time(end)
	r.thread(e, c, tid)
	e.SetStr(event.FieldTrack, nvtxRanges)
	e.SetUint(event.FieldSliceID, r.ranges)
}

// nvtxOther keeps rows that name domains and categories, and types that are not known.
func (r *reader) nvtxOther(c *cursor, typ int64, text string) {
	e := r.event(c, event.KindOther)
	r.thread(e, c, nvTID)
	name := r.labelOf("ENUM_NSYS_EVENT_TYPE", typ)
	if name == "" {
		name = "NVTX event type " + strconv.FormatInt(typ, 10)
	}
	e.SetStr(event.FieldName, name)
	pid := int64(e.PID)
	if id, ok := c.rows.Int(nvDomain); ok && typ == nvtxDomainCreate {
		r.strings.domains.set(nvtxKey{pid, id, 0}, text)
	}
	if id, ok := c.rows.Int(nvCategory); ok && typ == nvtxCategoryName {
		d, _ := c.rows.Int(nvDomain)
		r.strings.categories.set(nvtxKey{pid, d, id}, text)
	}
	r.obj.Reset()
	if text != "" {
		r.obj.Str("text", text)
	}
	r.columns(c, e, func(n string) bool { return n == "text" || n == "textId" || n == "eventType" })
	e.SetStr(event.FieldArgs, r.obj.String())
}

// nvtxArgs keeps domain, category, colour and payload.
func (r *reader) nvtxArgs(c *cursor, e *event.Event) {
	r.obj.Reset()
	pid := int64(e.PID)
	domain, _ := c.rows.Int(nvDomain)
	if domain != 0 {
		r.obj.Str("domain", r.strings.domains.get(nvtxKey{pid, domain, 0}, domain))
	}
	if v, ok := c.rows.Int(nvCategory); ok && v != 0 {
		r.obj.Str("nvtx_category", r.strings.categories.get(nvtxKey{pid, domain, v}, v))
	}
	if v, ok := c.rows.Int(nvColor); ok && v != 0 {
		r.obj.Int("color", v)
	}
	if s := r.cut(c.rows.Text(nvJSON)); s != "" {
		r.obj.Str("json", s)
	} else if s := r.ref(c, nvJSONID); s != "" {
		r.obj.Str("json", s)
	}
	for i := nvPayload; i < colFirst+len(nvtxCols); i++ {
		name := nvtxCols[i-colFirst]
		switch v := c.rows.Value(i).(type) {
		case int64:
			r.obj.Int(name, v)
		case float64:
			r.obj.Float(name, v)
		case string, []byte:
			r.obj.Str(name, r.cut(c.rows.Text(i)))
		}
	}
	e.SetStr(event.FieldArgs, r.obj.String())
}
