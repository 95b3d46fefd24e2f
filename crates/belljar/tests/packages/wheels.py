# Makes a folder of wheels that installers take for an index: `wheels.py FOLDER`, and on standard input
# {distribution: {path in the wheel: text}}. A text that begins with "-> " makes a symbolic link.
import base64, hashlib, json, os, sys, zipfile

folder = sys.argv[1]
for name, files in json.load(sys.stdin).items():
    place = os.path.join(folder, name)
    os.makedirs(place)
    wheel, record = f"{name}-1.0-py3-none-any.whl", []
    about = f"{name}-1.0.dist-info"
    files[f"{about}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    files[f"{about}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with zipfile.ZipFile(os.path.join(place, wheel), "w") as archive:
        for path, text in files.items():
            is_link = text.startswith("-> ")
            text = text.removeprefix("-> ").encode()
            entry = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = (0o120777 if is_link else 0o104755) << 16
            archive.writestr(entry, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(text)}\n")
        archive.writestr(f"{about}/RECORD", "".join(record) + f"{about}/RECORD,,\n")
    with open(os.path.join(place, "index.html"), "w") as index:
        index.write(f'<a href="{wheel}">{wheel}</a>')
