#!/usr/bin/env bash
# Makes a certificate authority and certificates for a railgauge installation, with openssl alone.
#
#   pki.sh ca DIR                   the authority: DIR/ca.crt, DIR/ca.key (keep that one off the nodes)
#   pki.sh controller DIR HOST...   DIR/controller.crt and .key, for these host names and addresses
#   pki.sh agent DIR NODE           DIR/NODE.crt and .key: may speak for that node only
#   pki.sh operator DIR NAME        DIR/NAME.crt and .key: may run and cancel
#   pki.sh viewer DIR NAME          DIR/NAME.crt and .key: may look
#
# EC P-256. The subject has the role as OU, the node or name as CN. Nothing is ever overwritten.
# PKI_DAYS sets the days for which certificates are valid (ca 3650, others 730). They are valid from an hour ago on, so
# that a node whose clock is a little behind accepts them.
set -euo pipefail

readonly program=${0##*/}
readonly lead_seconds=3600 longest_name=64

die() { echo "$program: $1" >&2; exit "${2:-4}"; }
usage() { die "usage: $program ca DIR | controller DIR HOST... | agent|operator|viewer DIR NAME" 2; }

check_name() {
  [[ $1 =~ ^[A-Za-z0-9][A-Za-z0-9._-]*$ ]] || die "name \"$1\": only letters, digits, '.', '_' and '-', beginning with a letter or digit" 2
  [ "${#1}" -le "$longest_name" ] || die "name \"$1\": longer than $longest_name characters, more than a certificate's name holds" 2
}

# "DNS:gpu01,IP:10.0.0.1"
alternative_names() {
  local host names=()
  for host in "$@"; do
    if [[ $host =~ ^[0-9]+(\.[0-9]+){3}$ || $host == *:* ]]; then
      names+=("IP:$host")
    else
      [[ $host =~ ^[A-Za-z0-9*][A-Za-z0-9.*-]*$ ]] || die "host \"$host\": neither a host name nor an address" 2
      names+=("DNS:$host")
    fi
  done
  local IFS=,
  echo "${names[*]}"
}

# write_config FOLDER EXTENSIONS: writes the settings that `openssl ca` reads from a file; EXTENSIONS are lines.
write_config() {
  : >"$1/index"
  cat >"$1/config" <<TEXT
[ca]
default_ca = here
[here]
database = $1/index
new_certs_dir = $1
rand_serial = yes
default_md = sha256
unique_subject = no
policy = subject
x509_extensions = extensions
[subject]
organizationName = supplied
organizationalUnitName = optional
commonName = supplied
[extensions]
subjectKeyIdentifier = hash
$2
TEXT
}

# issue DIR BASE SUBJECT DAYS EXTENSIONS: writes DIR/BASE.key and DIR/BASE.crt, both or none.
issue() {
  local dir=$1 base=$2 subject=$3 days=$4 extensions=$5 ending log
  for ending in key crt; do
    [ ! -e "$dir/$base.$ending" ] || die "$dir/$base.$ending: is there already and is not overwritten; remove it to replace it"
  done
  scratch=$(mktemp -d "$dir/.pki.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  log=$scratch/log
  write_config "$scratch" "$extensions"
  local signer=(-selfsign -keyfile "$scratch/key")
  [ "$base" = ca ] || signer=(-cert "$dir/ca.crt" -keyfile "$dir/ca.key")
  {
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$scratch/key" &&
      openssl req -new -key "$scratch/key" -subj "$subject" -config "$scratch/config" -out "$scratch/request" &&
      openssl ca -batch -notext -config "$scratch/config" "${signer[@]}" -in "$scratch/request" -out "$scratch/crt" \
        -startdate "$(date -u -d "-$lead_seconds seconds" +%Y%m%d%H%M%SZ)" \
        -enddate "$(date -u -d "+$days days" +%Y%m%d%H%M%SZ)"
  } >"$log" 2>&1 || die "$dir/$base.crt: openssl: $(grep -m 1 -iE 'error|unable|invalid|bad' "$log" || tail -n 1 "$log")"
  chmod 600 "$scratch/key"
  chmod 644 "$scratch/crt"
  # A hard link fails where the file exists by now, so two calls at once cannot overwrite each other.
  ln "$scratch/key" "$dir/$base.key" || die "$dir/$base.key: came into being meanwhile, nothing overwritten"
  ln "$scratch/crt" "$dir/$base.crt" || { rm -f "$dir/$base.key"; die "$dir/$base.crt: came into being meanwhile, nothing overwritten"; }
  echo "$dir/$base.crt: ${subject#/}, valid until $(date -u -d "$(openssl x509 -in "$dir/$base.crt" -noout -enddate | cut -d= -f2)" +%Y-%m-%d)"
}

leaf_extensions() {  # USAGE [ALTERNATIVE_NAMES]
  echo "authorityKeyIdentifier = keyid"
  echo "basicConstraints = critical, CA:FALSE"
  echo "keyUsage = critical, digitalSignature"
  echo "extendedKeyUsage = $1"
  [ -z "${2:-}" ] || echo "subjectAltName = $2"
}

command -v openssl >/dev/null || die "openssl: not found; the package is called openssl"
[ $# -ge 2 ] || usage
role=$1 dir=$2
shift 2
[[ ${PKI_DAYS:-1} =~ ^[1-9][0-9]{0,4}$ ]] || die "PKI_DAYS=$PKI_DAYS: no count of days from 1 to 99999" 2
umask 077
if [ "$role" != ca ] && [ ! -r "$dir/ca.key" ]; then
  die "$dir/ca.key: cannot be read; $program ca $dir makes an authority"
fi

case $role in
  ca)
    [ $# = 0 ] || usage
    mkdir -p "$dir"
    issue "$dir" ca "/O=railgauge/CN=railgauge authority $(date -u +%Y-%m-%d)" "${PKI_DAYS:-3650}" \
      $'basicConstraints = critical, CA:TRUE, pathlen:0\nkeyUsage = critical, keyCertSign, cRLSign'
    ;;
  controller)
    [ $# -ge 1 ] || usage
    hosts=$(alternative_names "$@")
    issue "$dir" controller "/O=railgauge/OU=controller/CN=controller" "${PKI_DAYS:-730}" \
      "$(leaf_extensions serverAuth "$hosts")"
    ;;
  agent | operator | viewer)
    [ $# = 1 ] || usage
    check_name "$1"
    case $1 in ca | controller) die "name \"$1\": belongs to the $1's own files" 2 ;; esac
    issue "$dir" "$1" "/O=railgauge/OU=$role/CN=$1" "${PKI_DAYS:-730}" "$(leaf_extensions clientAuth)"
    ;;
  *) usage ;;
esac
