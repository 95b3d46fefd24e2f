program Behaviour;
uses SysUtils;
var
  Line: string;
  Index: Integer;
begin
  WriteLn('ready');
  Sleep(1000);
  while not Eof do
  begin
    ReadLn(Line);
    WriteLn('got ', Line);
  end;
  for Index := 1 to ParamCount do WriteLn('arg [', ParamStr(Index), ']');
  WriteLn(StdErr, 'oops');
  Halt(3);
end.
