package args

import (
	"encoding/json"
	"math"
	"testing"
)

func TestObject(t *testing.T) {
	var o Object
	if !o.Empty() || o.String() != "" {
		t.Errorf("empty object is %q", o.String())
	}
	o.Str("s", "a\"\\\n\t\x01\xffé")
	o.Int("i", math.MinInt64)
	o.Uint("u", math.MaxUint64)
	o.Float("f", 0.5)
	o.Float("nan", math.NaN())
	o.Bool("b", true)
	o.Hex("h", 0xffff800000000000)
	o.Key("l")
	o.Open('[')
	o.IntValue(1)
	o.Open('{')
	o.Str("x", "y")
	o.Int("z", 2)
	o.Close('}')
	o.Open('[')
	o.Close(']')
	o.StrValue("e")
	o.Close(']')
	const want = `{"s":"a\"\\\n\t\u0001` + "\ufffd" + `é","i":-9223372036854775808,"u":18446744073709551615,"f":0.5,"nan":"NaN","b":true,"h":"0xffff800000000000","l":[1,{"x":"y","z":2},[],"e"]}`
	if got := o.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !json.Valid([]byte(o.String())) {
		t.Error("no valid JSON")
	}
	o.Reset()
	if !o.Empty() {
		t.Error("not empty after Reset")
	}
}

func FuzzAppend(f *testing.F) {
	f.Add("a\"\\\u2028\xff\x00")
	f.Fuzz(func(t *testing.T, s string) {
		var back string
		if err := json.Unmarshal(Append(nil, s), &back); err != nil || back != string([]rune(s)) {
			t.Errorf("%q became %q, %v", s, back, err)
		}
	})
}
