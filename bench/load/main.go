// Posts one body to an HTTPS endpoint over kept-alive HTTP/1.1 connections and prints what it measured as JSON.
//
//	load -url URL -ca FILE -body FILE -connections N -seconds S [-rate R]
//
// Without -rate every connection sends as fast as answers come (throughput). With -rate requests start on a fixed
// schedule, and latency counts from the scheduled start, so that a stalled server cannot hide behind a waiting client.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"
)

func main() {
	url := flag.String("url", "", "endpoint")
	ca := flag.String("ca", "", "PEM file of the certificate authority")
	bodyFile := flag.String("body", "", "file with the body to post")
	connections := flag.Int("connections", 8, "connections")
	seconds := flag.Float64("seconds", 5, "how long")
	rate := flag.Float64("rate", 0, "requests per second over all connections; 0 = as fast as answers come")
	flag.Parse()

	body, err := os.ReadFile(*bodyFile)
	check(err)
	pem, err := os.ReadFile(*ca)
	check(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)

	var all []float64
	var failed int
	var lock sync.Mutex
	var group sync.WaitGroup
	start := time.Now()
	end := start.Add(time.Duration(*seconds * float64(time.Second)))
	for worker := range *connections {
		group.Add(1)
		go func() {
			defer group.Done()
			// HTTP/1.1 only, as the API server speaks to webhooks; one transport is one connection.
			client := &http.Client{Transport: &http.Transport{
				TLSClientConfig:     &tls.Config{RootCAs: roots},
				MaxIdleConnsPerHost: 1,
				TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{},
			}}
			var mine []float64
			bad := 0
			for n := 0; ; n++ {
				begin := time.Now()
				if *rate > 0 {
					offset := float64(n**connections+worker) / *rate
					begin = start.Add(time.Duration(offset * float64(time.Second)))
					time.Sleep(time.Until(begin))
				}
				if begin.After(end) {
					break
				}
				response, err := client.Post(*url, "application/json", bytes.NewReader(body))
				if err != nil {
					bad++
					continue
				}
				_, err = io.Copy(io.Discard, response.Body)
				response.Body.Close()
				if err != nil || response.StatusCode != http.StatusOK {
					bad++
					continue
				}
				mine = append(mine, time.Since(begin).Seconds()*1000)
			}
			lock.Lock()
			all = append(all, mine...)
			failed += bad
			lock.Unlock()
		}()
	}
	group.Wait()
	elapsed := time.Since(start).Seconds()
	slices.Sort(all)
	quantile := func(q float64) float64 {
		if len(all) == 0 {
			return 0
		}
		return all[int(q*float64(len(all)-1))]
	}
	check(json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"requests": float64(len(all)), "failed": float64(failed), "per_second": float64(len(all)) / elapsed,
		"p50_ms": quantile(0.5), "p99_ms": quantile(0.99), "max_ms": quantile(1),
	}))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}
