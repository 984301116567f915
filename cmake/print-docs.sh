# print-docs.sh FRUGAL FOLDER: what the program prints of itself, into files to install. What it does not print is left
# out, and installing skips it.
frugal=$1
folder=$2
mkdir -p "$folder" || exit 1

keep() {
    file=$1
    shift
    if "$frugal" "$@" >"$folder/$file.new" 2>/dev/null && [ -s "$folder/$file.new" ]; then
        mv "$folder/$file.new" "$folder/$file"
    else
        rm -f "$folder/$file.new" "$folder/$file"
    fi
}

keep frugal.1 help --man
for shell in bash zsh fish; do
    keep "frugal.$shell" completion $shell
done
touch "$folder/done"
