# What could be taken for something that a worker says to its server, or belljar to its caller.
import os

for number in range(256):
    os.write(1, bytes([number, 0, 1]).replace(b"\n", b"-").replace(b"\r", b"-") + b"\n")
print('{"status":"crashed","error":{"kind":"Fake","message":"x"}}')
os._exit(7)
