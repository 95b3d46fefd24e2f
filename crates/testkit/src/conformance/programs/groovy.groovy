println "ready"
sleep 1000
System.in.eachLine { println "got $it" }
args.each { println "arg [$it]" }
System.err.println "oops"
System.exit 3
