// Command gpurec records, converts, joins and exports Linux GPU traces.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"unicode"

	"github.com/gpurec/gpurec/record"
	"github.com/urfave/cli/v2"
)

// version is set by the linker.
var version = ""

// Exit statuses. record returns its command's status instead.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitPartial = 3 // done, but part of the input could not be read
)

// exitError carries an exit status; an empty message prints nothing.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

func main() {
	record.RunHelper()
	os.Exit(run(untilSignal(), newApp(), os.Args))
}

// run runs a command, says what went wrong, and returns the exit status.
func run(ctx context.Context, app *cli.App, args []string) int {
	err := app.RunContext(ctx, args)
	if p := progressIn(app); p != nil {
		p.end()
	}
	if err == nil {
		return 0
	}
	code := exitFailed
	var ee *exitError
	if errors.As(err, &ee) {
		code = ee.code
	}
	if msg := err.Error(); msg != "" {
		fmt.Fprintln(os.Stderr, "gpurec:", oneLine(msg))
	}
	return code
}

// oneLine takes out what would change lines or the terminal: names of files
// and what traces hold may contain anything.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '\ufffd'
		}
		return r
	}, strings.ReplaceAll(strings.TrimSpace(s), "\n", "; "))
}

func newApp() *cli.App {
	cli.FlagStringer = flagText
	app := &cli.App{
		Name:    "gpurec",
		Usage:   "record, convert, join and export Linux GPU traces",
		Version: toolVersion(),
		Description: "record writes a log (run.gpurec); every other command reads logs and foreign traces alike:\n" +
			strings.Join(lines(importerNames()+"; plain, gzip, zstd, zip or tar; - is standard input.", 100), "\n") + "\n\n" +
			"Exit status: 0 done, 1 failed, 2 wrong usage, 3 done but part of the input could not be read;\n" +
			"record returns its command's.",
		HideHelpCommand:        true,
		UseShortOptionHandling: true,
		// Errors are printed once, by main.
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   wrongUsage,
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usageError("%q is no command; see gpurec --help", c.Args().First())
			}
			return cli.ShowAppHelp(c)
		},
		Commands: []*cli.Command{
			recordCommand(), importCommand(), exportCommand(), convertCommand(),
			correlateCommand(), reportCommand(), infoCommand(), openCommand(), doctorCommand(),
			{Name: "version", Usage: "print the version", Action: func(*cli.Context) error { fmt.Println(tool()); return nil }},
		},
	}
	for _, c := range app.Commands {
		c.OnUsageError = wrongUsage // the app's is not asked for a command's flags
	}
	return app
}

// notPID is what the flag parser says of a --pid that is no number.
const notPID = `^invalid value (".*") for flag -(?:p|pid):`

// wrongUsage says in one line what is wrong with the flags.
func wrongUsage(c *cli.Context, err error, _ bool) error {
	name := "gpurec"
	if c.Command != nil && c.Command.Name != "" && c.Command.Name != name {
		name += " " + c.Command.Name
	}
	msg := err.Error()
	if f, ok := strings.CutPrefix(msg, "flag provided but not defined: -"); ok {
		if len(f) > 1 {
			f = "-" + f
		}
		msg = fmt.Sprintf("%s has no flag -%s", strings.TrimPrefix(name, "gpurec "), f)
	} else if f := regexp.MustCompile(notPID).FindStringSubmatch(msg); f != nil {
		msg = fmt.Sprintf("-p %s is no process id", f[1])
	}
	return usageError("%s; see %s --help", msg, name)
}

// toolVersion is the version that stands in logs and exports.
func toolVersion() string {
	if version != "" {
		return version
	}
	if bi, ok := debug.ReadBuildInfo(); ok && bi.Main.Version != "" {
		return bi.Main.Version
	}
	return "unknown"
}

func tool() string { return "gpurec " + toolVersion() }
