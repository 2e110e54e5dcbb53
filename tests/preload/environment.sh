#!/bin/bash
# SPDX-License-Identifier: MIT
#
# environment.sh - programs that clear their environment before the first call,
# make it before libc has one, or execute others with an invented one, stay on their
# registry; those that leave it on purpose do. And the functions found by libc's own
# handle are the shim's.

. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
tool=${IPCLIFT_TOOL:?}

# made: is the set in the registry? Then forget it.
made() {
	local rows

	rows=$("$tool" ls --proc sem 2>/dev/null | tail -n +2)
	new_registry
	[ -n "$rows" ]
}
served() {
	shimmed "$@" && made
}
not_served() {
	shimmed "$@"
	made && return 1
	# Whatever it made in the kernel goes again.
	ipcrm -a
}

ways="clearenv null overwritten execve execve-null execve-invented
	execve-preload execvpe execle fexecve execv execvp execl execlp
	posix_spawn posix_spawnp vfork-execve vfork-execl"
compilers=gcc
command -v musl-gcc >/dev/null && compilers="gcc musl-gcc"
for cc in $compilers; do
	program=$(helper environment "$cc") || exit 1
	for way in $ways; do
		# musl's execve takes no NULL for an environment.
		[ "$cc-$way" != musl-gcc-execve-null ] || continue
		check "$cc: $way" served "$program" "$way" 2>/dev/null
	done
done
# musl runs no such functions.
check "before libc has set environ" served "$(helper preinit)"
program=$(helper environment)
check "env -i" served env -i "$program" make
check "env -u LD_PRELOAD is meant" \
	not_served env -u LD_PRELOAD "$program" make
check "an empty LD_PRELOAD, too" \
	not_served env LD_PRELOAD= "$program" make
other=$(ldd "$program" | sed -n 's/.*libc.so.6 => \([^ ]*\).*/\1/p')
[ -z "$other" ] || other=${other%/*}/libm.so.6
check "another library in LD_PRELOAD is besides ours" \
	served env "LD_PRELOAD=$other" "$program" make
check "by a script, and its child" served sh -c \
	'LD_PRELOAD=$1 sh -c "\$0 make" "$2"' - "$other" "$program"
check "a copy of ours is left as it is" [ "$(shimmed env \
	"LD_PRELOAD=/nonexistent/libipclift.so" env 2>/dev/null |
	sed -n 's/^LD_PRELOAD=//p')" = /nonexistent/libipclift.so ]
export IPCLIFT_EXEC=keep
check "IPCLIFT_EXEC=keep" not_served "$program" execve
check "and with another library" \
	not_served env "LD_PRELOAD=$other" "$program" make
unset IPCLIFT_EXEC
check "no object in the kernel" [ "$(kernel_objects)" = 0 ]

# ---- dlsym and dlvsym on libc's handle ----

cat >"$dir/ffi.py" <<'PY'
import ctypes, sys
libc, all_ = ctypes.CDLL("libc.so.6"), ctypes.CDLL(None)
a = libc.semget(0x7e, 1, 0o1600)
b = all_.semget(0x7e, 1, 0o1600)
for lib in libc, all_:
    lib.mq_open.argtypes = [ctypes.c_char_p, ctypes.c_int]
strlen = libc.strlen(b"four")
libc.dlvsym.restype = ctypes.c_void_p
libc.dlvsym.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
at = libc.dlvsym(libc._handle, b"semget", b"GLIBC_2.2.5")
c = ctypes.CFUNCTYPE(*[ctypes.c_int] * 4)(at)(0x7e, 1, 0o1600)
none = libc.dlvsym(libc._handle, b"semget", b"GLIBC_0")
sys.exit(0 if a == b == c and a >= 0 and strlen == 4 and not none else 1)
PY
check "Python's ctypes.CDLL('libc.so.6')" served python3 "$dir/ffi.py"
check "no object in the kernel" [ "$(kernel_objects)" = 0 ]
if command -v ruby >/dev/null; then
	check "Ruby's Fiddle" served ruby -e 'require "fiddle"
		l = Fiddle.dlopen("libc.so.6")
		f = Fiddle::Function.new(l["semget"], [Fiddle::TYPE_INT] * 3,
			Fiddle::TYPE_INT)
		exit(f.call(0x7e, 1, 01600) >= 0)'
else
	echo "skip: no ruby"
fi
cat >"$dir/ffi.lua" <<'LUA'
local ffi = require "ffi"
ffi.cdef "int semget(int, int, int);"
local by_name = ffi.load("libc.so.6").semget(0x7e, 1, 512 + 384)
assert(by_name >= 0 and by_name == ffi.C.semget(0x7e, 1, 384))
LUA
if command -v luajit >/dev/null; then
	check "LuaJIT's ffi.load" served luajit "$dir/ffi.lua"
else
	echo "skip: no luajit"
fi
cat >"$dir/ffi.lisp" <<'LISP'
(load-shared-object "libc.so.6")
(exit :code (if (< (alien-funcall (extern-alien "semget"
    (function int int int int)) #x7e 1 #o1600) 0) 1 0))
LISP
if command -v sbcl >/dev/null; then
	check "SBCL's aliens" served sbcl --script "$dir/ffi.lisp"
else
	echo "skip: no sbcl"
fi
check "no object in the kernel, still" [ "$(kernel_objects)" = 0 ]

# ---- a libc in a namespace of its own is not reached (README), but kept out ----

cat >"$dir/dlmopen.py" <<'PY'
import ctypes, sys
libc = ctypes.CDLL(None)
libc.dlmopen.restype = libc.dlsym.restype = ctypes.c_void_p
handle = libc.dlmopen(ctypes.c_long(-1), b"libc.so.6", 2)
at = libc.dlsym(ctypes.c_void_p(handle), b"semget")
sys.exit(ctypes.CFUNCTYPE(*[ctypes.c_int] * 4)(at)(0x7e, 1, 0o1600) < 0)
PY
in_the_kernel() {
	shimmed "$@" && ! made && [ "$(kernel_objects)" = 1 ] && ipcrm -a
}
check "dlmopen's libc" in_the_kernel python3 "$dir/dlmopen.py"
strictly() {
	"$tool" run --strict -- python3 "$dir/dlmopen.py"
}
check "is refused by run --strict" [ "$(strictly; echo $?)" = 1 ]
check "nothing of it is in the kernel" [ "$(kernel_objects)" = 0 ]
finish
