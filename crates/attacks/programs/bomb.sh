# The classic bomb. The first shell stays and spins, or the run would end with it.
# Arguments: marker, and for the control run the word `control`.
if [ "$2" = control ]; then
    echo "started $(echo piped | cat)"
    exit 0
fi
echo started
:() { : | : & }
: 2>/dev/null
while true; do true; done
