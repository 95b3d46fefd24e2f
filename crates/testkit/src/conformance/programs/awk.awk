BEGIN {
    print "ready"
    system("sleep 1")
    while ((getline line < "-") > 0) print "got " line
    for (i = 1; i < ARGC; i++) printf "arg [%s]\n", ARGV[i]
    print "oops" > "/dev/stderr"
    exit 3
}
