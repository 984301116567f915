# Installs what was built, moves it, and builds a program against it through pkg-config and through CMake.
set -eu
if [ -n "$FR_SANITIZE" ]; then
    echo "a sanitized library wants a sanitized program: skipped"
    exit 77
fi
DESTDIR= cmake --install "$FR_BUILD_DIR" --prefix "$PWD/first" >/dev/null
mv first moved

cat >version.c <<'C'
#include <frugal/frugal.h>
#include <stdio.h>
int main(void)
{
    return puts(fr_version()) < 0;
}
C
PKG_CONFIG_PATH=$(dirname "$(find "$PWD/moved" -name frugal.pc)")
export PKG_CONFIG_PATH
libraries=$(pkg-config --variable=libdir frugal)
# shellcheck disable=SC2046
cc -std=c17 version.c -o by-pkg-config $(pkg-config --cflags --libs frugal)
[ "$(LD_LIBRARY_PATH=$libraries ./by-pkg-config)" = "$(pkg-config --modversion frugal)" ]

mkdir user
cp version.c user/
cat >user/CMakeLists.txt <<'C'
cmake_minimum_required(VERSION 3.22)
project(user C)
find_package(Frugal REQUIRED)
add_executable(version version.c)
target_link_libraries(version PRIVATE Frugal::frugal)
C
cmake -S user -B user/build -DCMAKE_PREFIX_PATH="$PWD/moved" >/dev/null
cmake --build user/build >/dev/null
[ "$(user/build/version)" = "$(pkg-config --modversion frugal)" ]

# The static library with the same file.
# shellcheck disable=SC2046
cc -std=c17 version.c -o statically $(pkg-config --cflags frugal) "$libraries/libfrugal.a" \
    $(pkg-config --static --libs-only-l frugal | sed 's/-lfrugal//')
[ "$(./statically)" = "$(pkg-config --modversion frugal)" ]

if [ -n "$FRUGAL" ]; then
    moved/bin/frugal --version >/dev/null
fi
