package main

import (
	"strings"

	"github.com/gpurec/gpurec/export"
	chromeout "github.com/gpurec/gpurec/export/chromejson"
	"github.com/gpurec/gpurec/export/parquet"
	"github.com/gpurec/gpurec/export/perfetto"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/chromejson"
	"github.com/gpurec/gpurec/record/importer/ftracetext"
	"github.com/gpurec/gpurec/record/importer/nsys"
	pftrace "github.com/gpurec/gpurec/record/importer/perfetto"
	"github.com/gpurec/gpurec/record/importer/perfscript"
	"github.com/gpurec/gpurec/record/importer/rawpages"
	"github.com/gpurec/gpurec/record/importer/rocm"
	"github.com/gpurec/gpurec/record/importer/tracedat"
)

// The one place where importers and exporters are listed.

// importers are asked in this order; a file is claimed by one at most.
func importers() []importer.Format {
	return []importer.Format{
		ftracetext.Format(),
		tracedat.Format(),
		rawpages.Format(),
		perfscript.Format(),
		nsys.Format(),
		pftrace.Format(),
		pftrace.Text(),
		rocm.RPD(),
		rocm.ROCPD(),
		rocm.JSON(),
		chromejson.Kineto(),
		chromejson.Format(),
	}
}

func exporters() []export.Format {
	return []export.Format{
		perfetto.Format(),
		chromeout.Format(),
		parquet.Format(),
	}
}

// exporterFor picks the format by name, else by the suffix of the output.
func exporterFor(name, out string, isDir bool) (*export.Format, error) {
	all := exporters()
	for i := range all {
		f := &all[i]
		if name == f.Name {
			return f, nil
		}
		if name != "" {
			continue
		}
		for _, s := range f.Suffixes {
			if s == "/" && isDir || strings.HasSuffix(out, s) {
				return f, nil
			}
		}
	}
	var names, suffixes []string
	for _, f := range all {
		names = append(names, f.Name)
		suffixes = append(suffixes, f.Suffixes...)
	}
	if name != "" {
		return nil, usageError("--format %q is not known; known are %s", name, strings.Join(names, ", "))
	}
	return nil, usageError("%s: the suffix names no format; use one of %s (a path that ends in / is a directory of Parquet files), or --format", out, strings.Join(suffixes, " "))
}
