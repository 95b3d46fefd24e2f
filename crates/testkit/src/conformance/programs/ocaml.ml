let () =
  print_endline "ready";
  Unix.sleep 1;
  (try
     while true do
       print_endline ("got " ^ input_line stdin)
     done
   with End_of_file -> ());
  Array.iteri (fun i argument -> if i > 0 then Printf.printf "arg [%s]\n" argument) Sys.argv;
  prerr_endline "oops";
  exit 3
