#lang racket/base
(displayln "ready")
(sleep 1)
(for ([line (in-lines)]) (printf "got ~a\n" line))
(for ([argument (current-command-line-arguments)]) (printf "arg [~a]\n" argument))
(eprintf "oops\n")
(exit 3)
