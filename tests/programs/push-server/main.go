// SPDX-License-Identifier: MIT

// A server with the real types and the real handler of Pyroscope's Push API. It refuses what Pyroscope refuses, and what no
// client should send; each profile that it takes becomes a line of JSON. The first requests can be met by faults.
package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"connectrpc.com/connect"
	"github.com/google/pprof/profile"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
)

// Pyroscope's own limits, as it has them where nothing else is configured.
const (
	maxLabels  = 30
	maxName    = 1024
	maxValue   = 2048
	maxSamples = 16000
	maxBytes   = 4 << 20
	maxAge     = time.Hour
	maxAhead   = 10 * time.Minute
)

var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

type sample struct {
	Stack  []string          `json:"stack"` // leaf first
	Values map[string]int64  `json:"values"`
	Labels map[string]string `json:"labels"`
}

type record struct {
	Labels   map[string]string `json:"labels"`
	ID       string            `json:"id"`
	Types    []string          `json:"types"`
	Period   string            `json:"period"`
	Default  string            `json:"default"`
	Time     int64             `json:"time"`
	Duration int64             `json:"duration"`
	Bytes    int               `json:"bytes"`
	Samples  []sample          `json:"samples"`
	Headers  map[string]string `json:"headers"`
	Request  int               `json:"request"` // which it came in
}

type server struct {
	sync.Mutex
	out    *json.Encoder
	taken  int      // requests
	faults []string // those of the next requests
}

func wrong(format string, args ...any) error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, args...))
}

func readLabels(series *pushv1.RawProfileSeries) (map[string]string, error) {
	labels := map[string]string{}
	if len(series.Labels) > maxLabels {
		return nil, wrong("%d labels", len(series.Labels))
	}
	for _, label := range series.Labels {
		switch {
		case !labelName.MatchString(label.Name) || len(label.Name) > maxName:
			return nil, wrong("invalid label name %q", label.Name)
		case label.Value == "" || len(label.Value) > maxValue || !utf8.ValidString(label.Value):
			return nil, wrong("invalid value %q of label %s", label.Value, label.Name)
		case labels[label.Name] != "":
			return nil, wrong("label %s stands there twice", label.Name)
		}
		labels[label.Name] = label.Value
	}
	if labels["__name__"] == "" || labels["service_name"] == "" {
		return nil, wrong("no __name__, or no service_name")
	}
	return labels, nil
}

func readSample(from *profile.Sample, types []*profile.ValueType) (sample, error) {
	to := sample{Values: map[string]int64{}, Labels: map[string]string{}}
	for _, location := range from.Location {
		for _, line := range location.Line {
			to.Stack = append(to.Stack, line.Function.Name)
		}
	}
	for i, value := range from.Value {
		if value < 0 {
			return to, wrong("a negative value")
		}
		to.Values[types[i].Type] = value
	}
	for name, values := range from.Label {
		if len(values) != 1 || !labelName.MatchString(name) {
			return to, wrong("label %q of a sample: %q", name, values)
		}
		to.Labels[name] = values[0]
	}
	if len(from.NumLabel) > 0 {
		return to, wrong("a label that is a number: the server would drop it")
	}
	for name, digits := range map[string]int{"span_id": 16, "trace_id": 32} {
		if id, found := to.Labels[name]; found &&
			!regexp.MustCompile(fmt.Sprintf("^[0-9a-f]{%d}$", digits)).MatchString(id) {
			return to, wrong("%s %q: the server would drop it", name, id)
		}
	}
	return to, nil
}

func readProfile(raw []byte, to *record) error {
	p, err := profile.ParseData(raw)
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		return wrong("malformed profile: %v", err)
	}
	age := time.Since(time.Unix(0, p.TimeNanos))
	switch {
	case len(p.Sample) == 0:
		return wrong("nothing is in it")
	case len(p.Sample) > maxSamples:
		return wrong("%d samples", len(p.Sample))
	case age > maxAge || age < -maxAhead:
		return wrong("outside of ingestion window: %v old", age)
	}
	for _, t := range p.SampleType {
		if strings.Contains(t.Type, "-") {
			return wrong("sample type contains -")
		}
		to.Types = append(to.Types, t.Type+"/"+t.Unit)
	}
	to.Period = p.PeriodType.Type + "/" + p.PeriodType.Unit
	to.Default = p.DefaultSampleType
	to.Time = p.TimeNanos
	to.Duration = p.DurationNanos
	for _, from := range p.Sample {
		one, err := readSample(from, p.SampleType)
		if err != nil {
			return err
		}
		to.Samples = append(to.Samples, one)
	}
	return nil
}

func (s *server) Push(_ context.Context, request *connect.Request[pushv1.PushRequest]) (*connect.Response[pushv1.PushResponse], error) {
	var records []record
	for _, series := range request.Msg.Series {
		labels, err := readLabels(series)
		if err != nil {
			return nil, err
		}
		for _, raw := range series.Samples {
			one := record{Labels: labels, ID: raw.ID, Bytes: len(raw.RawProfile), Headers: map[string]string{}}
			for name := range request.Header() {
				one.Headers[name] = request.Header().Get(name)
			}
			if len(raw.RawProfile) > maxBytes {
				return nil, wrong("%d bytes", len(raw.RawProfile))
			}
			if err := readProfile(raw.RawProfile, &one); err != nil {
				return nil, err
			}
			records = append(records, one)
		}
	}
	if len(records) == 0 {
		return nil, wrong("nothing was pushed")
	}
	s.Lock()
	defer s.Unlock()
	s.taken++
	for _, one := range records {
		one.Request = s.taken
		if err := s.out.Encode(one); err != nil {
			return nil, connect.NewError(connect.CodeInternal, err)
		}
	}
	return connect.NewResponse(&pushv1.PushResponse{}), nil
}

func (s *server) nextFault() string {
	s.Lock()
	defer s.Unlock()
	if len(s.faults) == 0 {
		return ""
	}
	fault := s.faults[0]
	s.faults = s.faults[1:]
	return fault
}

// Does not what a server should, but for "ok": "500", "429:1" (Retry-After: 1), "close" (in the middle of the body), "hang", "garbage",
// "cut" (takes it, and closes in the middle of the answer).
func misbehave(fault string, w http.ResponseWriter, r *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	status, after, _ := strings.Cut(fault, ":")
	switch fault {
	case "close":
		_, _ = io.CopyN(io.Discard, r.Body, 10)
	case "hang":
		_, _ = io.Copy(io.Discard, conn)
	case "garbage":
		_, _ = io.WriteString(conn, "\x00\xff this is no HTTP\r\n\r\n")
	default:
		if after != "" {
			after = "Retry-After: " + after + "\r\n"
		}
		text := fmt.Sprintf("fault %s; you said Authorization: %s", status, r.Header.Get("Authorization"))
		fmt.Fprintf(conn, "HTTP/1.1 %s Fault\r\n%sContent-Length: %d\r\nConnection: close\r\n\r\n%s", status, after,
			len(text), text)
	}
}

// The answer of NEXT, of which the client sees the beginning.
func cut(next http.Handler, w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	next.ServeHTTP(discard{http.Header{}}, r)
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		log.Fatal(err)
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf of it")
	conn.Close()
}

type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

func (s *server) with(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch fault := s.nextFault(); fault {
		case "", "ok":
			next.ServeHTTP(w, r)
		case "cut":
			cut(next, w, r)
		default:
			misbehave(fault, w, r)
		}
	})
}

// A certificate that nobody has signed but its own key.
func withTLS(listener net.Listener, path string) (net.Listener, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "push-server"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return nil, err
	}
	return tls.NewListener(listener, &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
	}), nil
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "")
	file := flag.String("record", "", "one line of JSON for each profile is added there")
	faults := flag.String("faults", "", "what the first requests meet: 500,429:1,close,hang,garbage,cut")
	cert := flag.String("cert", "", "TLS, with a new certificate for 127.0.0.1, which is written there")
	flag.Parse()
	out, err := os.OpenFile(*file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	s := &server{out: json.NewEncoder(out)}
	if *faults != "" {
		s.faults = strings.Split(*faults, ",")
	}
	mux := http.NewServeMux()
	mux.Handle(pushv1connect.NewPusherServiceHandler(s))
	listener, err := net.Listen("tcp", *listen)
	if err == nil && *cert != "" {
		listener, err = withTLS(listener, *cert)
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", listener.Addr())
	h := &http.Server{Handler: s.with(mux)}
	done := make(chan struct{})
	go func() {
		ended := make(chan os.Signal, 1)
		signal.Notify(ended, syscall.SIGTERM)
		<-ended
		// What has come is answered.
		_ = h.Shutdown(context.Background())
		close(done)
	}()
	if err := h.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
	<-done
}
