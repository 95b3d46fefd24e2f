package main

import (
	"bufio"
	"fmt"
	"os"
	"time"
)

func main() {
	fmt.Println("ready")
	time.Sleep(time.Second)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println("got " + lines.Text())
	}
	for _, argument := range os.Args[1:] {
		fmt.Printf("arg [%s]\n", argument)
	}
	fmt.Fprintln(os.Stderr, "oops")
	os.Exit(3)
}
