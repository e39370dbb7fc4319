#!/usr/bin/env bash
# Tests pki.sh with openssl itself: chains, roles, names, permissions, refusals.
set -euo pipefail
pki=$(cd "$(dirname "$0")" && pwd)/pki.sh
command -v openssl >/dev/null || { echo "waived: openssl is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dir=$work/pki

fail() { echo "FAILED: $1" >&2; exit 1; }
expect() { [ "$2" = "$3" ] || fail "$1: \"$2\", wanted \"$3\""; }
# expect_exit CODE COMMAND...: fails unless the command ends with CODE; its message is in $work/err.
expect_exit() {
  local want=$1 got=0
  shift
  "$@" >"$work/out" 2>"$work/err" || got=$?
  expect "exit code of ${*##*/}" "$got" "$want"
}
field() { openssl x509 -in "$dir/$1.crt" -noout "${@:2}"; }

expect_exit 4 "$pki" agent "$dir" n1
grep -q "makes an authority" "$work/err" || fail "an agent without an authority is told to make one"

expect_exit 0 "$pki" ca "$dir"
grep -qE 'valid until [0-9]{4}-[0-9]{2}-[0-9]{2}$' "$work/out" || fail "the expiry is stated"
expect_exit 0 "$pki" controller "$dir" localhost ctl.example 10.0.2.2 ::1
expect_exit 0 "$pki" agent "$dir" n1
expect_exit 0 "$pki" operator "$dir" alice
expect_exit 0 "$pki" viewer "$dir" bob

for name in ca controller n1 alice bob; do
  expect "mode of $name.key" "$(stat -c %a "$dir/$name.key")" 600
  expect "mode of $name.crt" "$(stat -c %a "$dir/$name.crt")" 644
  field "$name" -text | grep -q 'ASN1 OID: prime256v1' || fail "$name: key is not EC P-256"
  expect "key of $name" "$(openssl pkey -in "$dir/$name.key" -pubout)" "$(field "$name" -pubkey)"
  # The certificate is valid now, and on a clock half an hour behind.
  openssl verify -attime "$(($(date +%s) - 1800))" -CAfile "$dir/ca.crt" "$dir/$name.crt" >/dev/null || fail "$name: not yet valid"
done
expect "mode of the folder" "$(stat -c %a "$dir")" 700

openssl verify -x509_strict -purpose sslserver -verify_hostname ctl.example -CAfile "$dir/ca.crt" "$dir/controller.crt" >/dev/null
openssl verify -x509_strict -purpose sslserver -verify_ip 10.0.2.2 -CAfile "$dir/ca.crt" "$dir/controller.crt" >/dev/null
openssl verify -x509_strict -purpose sslserver -verify_ip ::1 -CAfile "$dir/ca.crt" "$dir/controller.crt" >/dev/null
! openssl verify -verify_hostname other.example -CAfile "$dir/ca.crt" "$dir/controller.crt" >/dev/null 2>&1 ||
  fail "the controller's certificate holds for a host that was not named"
for name in n1 alice bob; do
  openssl verify -x509_strict -purpose sslclient -CAfile "$dir/ca.crt" "$dir/$name.crt" >/dev/null
  ! openssl verify -purpose sslserver -CAfile "$dir/ca.crt" "$dir/$name.crt" >/dev/null 2>&1 ||
    fail "$name's certificate would pass for a server's"
done

subject() { field "$1" -subject -nameopt RFC2253; }
expect "subject of n1" "$(subject n1)" "subject=CN=n1,OU=agent,O=railgauge"
expect "subject of alice" "$(subject alice)" "subject=CN=alice,OU=operator,O=railgauge"
expect "subject of bob" "$(subject bob)" "subject=CN=bob,OU=viewer,O=railgauge"
expect "subject of the controller" "$(subject controller)" "subject=CN=controller,OU=controller,O=railgauge"
[ "$(field n1 -serial)" != "$(field alice -serial)" ] || fail "two certificates share a serial number"

# Another authority's certificate does not pass.
"$pki" ca "$work/other" >/dev/null
"$pki" agent "$work/other" n1 >/dev/null
! openssl verify -CAfile "$dir/ca.crt" "$work/other/n1.crt" >/dev/null 2>&1 || fail "a stranger's certificate passes"

before=$(sha256sum "$dir"/*)
expect_exit 4 "$pki" ca "$dir"
expect_exit 4 "$pki" agent "$dir" n1
grep -q "is not overwritten" "$work/err" || fail "the refusal names the reason"
expect_exit 4 "$pki" viewer "$dir" alice
expect "files after the refusals" "$(sha256sum "$dir"/*)" "$before"

expect_exit 2 "$pki"
expect_exit 2 "$pki" frobnicate "$dir"
expect_exit 2 "$pki" agent "$dir"
expect_exit 2 "$pki" agent "$dir" "../n1"
expect_exit 2 "$pki" agent "$dir" "n1/OU=operator"
expect_exit 2 "$pki" agent "$dir" controller
expect_exit 2 "$pki" controller "$dir" "bad host"
expect_exit 2 env PKI_DAYS=never "$pki" agent "$dir" n2
expect "scratch left behind" "$(find "$dir" -name '.pki.*' | wc -l)" 0

expect_exit 0 env PKI_DAYS=1 "$pki" agent "$dir" n2
! openssl verify -attime "$(($(date +%s) + 172800))" -CAfile "$dir/ca.crt" "$dir/n2.crt" >/dev/null 2>&1 || fail "PKI_DAYS has no effect"
echo "pki.sh: all checks passed"
