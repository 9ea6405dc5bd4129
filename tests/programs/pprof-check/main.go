// SPDX-License-Identifier: MIT

// Reads profiles with pprof's own library, which refuses what is not valid, and prints each as a line of JSON. Stricter
// than the library: no bytes behind the gzip file, valid UTF-8, lines and functions that agree, and the library's own
// encoding of what was read is the same profile.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/google/pprof/profile"
)

type frame struct {
	Name    string `json:"name"`
	File    string `json:"file"`
	Line    int64  `json:"line"`
	Mapping string `json:"mapping"`
}

type sample struct {
	Stack   []frame             `json:"stack"` // leaf first
	Values  map[string]int64    `json:"values"`
	Labels  map[string][]string `json:"labels"`
	Numbers map[string][]int64  `json:"numbers"`
}

type result struct {
	Types    []string          `json:"types"` // "wall/nanoseconds"
	Default  string            `json:"default"`
	Period   string            `json:"period"`
	Time     int64             `json:"time"`
	Duration int64             `json:"duration"`
	Comments []string          `json:"comments"`
	Mappings map[string]string `json:"mappings"` // file to build id
	Samples  []sample          `json:"samples"`
}

func typeOf(t *profile.ValueType) string { return t.Type + "/" + t.Unit }

func checkText(texts ...string) error {
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return fmt.Errorf("%q is not UTF-8", text)
		}
	}
	return nil
}

// The message within the file, which must be all of it.
func unpack(path string) ([]byte, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	reader := bytes.NewReader(file)
	unzip, err := gzip.NewReader(reader)
	if err != nil {
		return nil, err
	}
	unzip.Multistream(false)
	message, err := io.ReadAll(unzip)
	if err == nil && reader.Len() > 0 {
		err = fmt.Errorf("%d bytes behind the end", reader.Len())
	}
	return message, err
}

func read(path string) (*profile.Profile, error) {
	message, err := unpack(path)
	if err != nil {
		return nil, err
	}
	p, err := profile.ParseUncompressed(message)
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		return nil, err
	}
	var again bytes.Buffer
	if err := p.WriteUncompressed(&again); err != nil {
		return nil, err
	}
	q, err := profile.ParseUncompressed(again.Bytes())
	if err == nil && p.String() != q.String() {
		err = fmt.Errorf("written again it is another profile")
	}
	return p, err
}

func samples(p *profile.Profile) ([]sample, error) {
	all := []sample{}
	for _, s := range p.Sample {
		one := sample{Values: map[string]int64{}, Labels: s.Label, Numbers: s.NumLabel}
		for _, location := range s.Location {
			if len(location.Line) != 1 {
				return nil, fmt.Errorf("location %d has %d lines", location.ID, len(location.Line))
			}
			line := location.Line[0]
			f := frame{line.Function.Name, line.Function.Filename, line.Line, ""}
			if location.Mapping != nil {
				f.Mapping = location.Mapping.File
			}
			if line.Line != line.Function.StartLine {
				return nil, fmt.Errorf("%s is at line %d and at %d", f.Name, line.Line, line.Function.StartLine)
			}
			if err := checkText(f.Name, f.File, f.Mapping); err != nil {
				return nil, err
			}
			one.Stack = append(one.Stack, f)
		}
		for i, t := range p.SampleType {
			one.Values[t.Type] = s.Value[i]
		}
		for key, texts := range s.Label {
			if err := checkText(append(texts, key)...); err != nil {
				return nil, err
			}
		}
		all = append(all, one)
	}
	return all, nil
}

func show(path string) error {
	p, err := read(path)
	if err != nil {
		return err
	}
	r := result{Default: p.DefaultSampleType, Period: typeOf(p.PeriodType), Time: p.TimeNanos,
		Duration: p.DurationNanos, Comments: p.Comments, Mappings: map[string]string{}}
	for _, t := range p.SampleType {
		r.Types = append(r.Types, typeOf(t))
	}
	for _, m := range p.Mapping {
		r.Mappings[m.File] = m.BuildID
	}
	if r.Samples, err = samples(p); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

func main() {
	for _, path := range os.Args[1:] {
		if err := show(path); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			os.Exit(1)
		}
	}
}
