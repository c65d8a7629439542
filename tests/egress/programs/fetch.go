// Fetches a URL without the C library: Go's own resolver reads /etc/resolv.conf.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	response, err := http.Get(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	io.Copy(os.Stdout, response.Body)
}
