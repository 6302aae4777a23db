// SPDX-License-Identifier: Apache-2.0

// Renders a chart as Helm does: its engine is Go's text/template with sprig's functions and a few of its own. Helm
// itself is not in Debian 12. Arguments: the folder of templates; the values and the rest come as JSON on stdin. What
// is written as YAML by toYaml is JSON here, which YAML contains.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
)

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	var data map[string]interface{}
	fail(json.NewDecoder(os.Stdin).Decode(&data))
	all := template.New("chart").Option("missingkey=error").Funcs(sprig.TxtFuncMap())
	all.Funcs(template.FuncMap{
		"include": func(name string, with interface{}) (string, error) {
			var out bytes.Buffer
			err := all.ExecuteTemplate(&out, name, with)
			return out.String(), err
		},
		"toYaml": func(value interface{}) (string, error) {
			text, err := json.MarshalIndent(value, "", "  ")
			return string(text), err
		},
	})
	files, err := filepath.Glob(filepath.Join(os.Args[1], "*"))
	fail(err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		fail(err)
		_, err = all.New(filepath.Base(file)).Parse(string(text))
		fail(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".yaml") {
			fmt.Println("---")
			fail(all.ExecuteTemplate(os.Stdout, filepath.Base(file), data))
		}
	}
}
