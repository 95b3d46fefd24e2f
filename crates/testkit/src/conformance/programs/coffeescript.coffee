fs = require "node:fs"

console.log "ready"
setTimeout (->
  console.log "got #{line}" for line in fs.readFileSync(0, "utf8").trimEnd().split "\n"
  console.log "arg [#{argument}]" for argument in process.argv.slice 2
  console.error "oops"
  process.exitCode = 3), 1000
