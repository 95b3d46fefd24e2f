-module(behaviour).
-export([main/1]).

main(Arguments) ->
    io:setopts([{encoding, unicode}]),
    io:format("ready~n"),
    timer:sleep(1000),
    lines(io:get_line("")),
    [io:format("arg [~ts]~n", [Argument]) || Argument <- Arguments],
    io:format(standard_error, "oops~n", []),
    halt(3).

lines(eof) -> ok;
lines(Line) ->
    io:format("got ~ts", [Line]),
    lines(io:get_line("")).
