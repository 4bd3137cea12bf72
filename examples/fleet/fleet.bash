# Starts and asks servers and HAProxy, for the scripts that source it. The caller sets `programs`, the folder of the
# programs, and `work`, a folder for logs.
# shellcheck shell=bash

: "${programs:?}" "${work:?}"
declare -A port agent process
haproxy='' front='' statistics=''

# start NAME MILLISECONDS LIMIT: starts a server, on the ports that it had before if there were such
start() {
  : >"$work/$1.ports"
  "$programs/example_fleet_server" "${port[$1]:-0}" "${agent[$1]:-0}" "$2" "$3" >"$work/$1.ports" 2>>"$work/$1.log" &
  process[$1]=$!
  for ((i = 0; i < 200; i++)); do
    read -r "port[$1]" "agent[$1]" <"$work/$1.ports" && return 0
    sleep 0.05
  done
  cat "$work/$1.log"
  return 1
}

# start_haproxy CONFIGURATION: starts HAProxy before the servers a, b and c; takes ports until two are free
start_haproxy() {
  for ((try = 0; try < 20; try++)); do
    front=$((20000 + RANDOM % 10000)) statistics=$((30000 + RANDOM % 2000))
    FRONT=$front STATISTICS=$statistics A=${port[a]} B=${port[b]} C=${port[c]} \
      A_AGENT=${agent[a]} B_AGENT=${agent[b]} C_AGENT=${agent[c]} haproxy -db -f "$1" >"$work/haproxy.log" 2>&1 &
    haproxy=$!
    sleep 0.5
    ! kill -0 "$haproxy" 2>/dev/null || return 0
  done
  cat "$work/haproxy.log"
  return 1
}

# get PORT [PATH]: all that comes from there; with a path, as an answer to HTTP
get() {
  exec 9<>"/dev/tcp/127.0.0.1/$1" || return 1
  [[ -z ${2:-} ]] || printf 'GET %s HTTP/1.0\r\n\r\n' "$2" >&9
  timeout 5 cat <&9
  exec 9>&-
}

# told NAME: the percentage that the server's agent says
told() { get "${agent[$1]}" | sed -n 's/^ready up \([0-9]*\)%$/\1/p'; }

# seen NAME FIELD: what HAProxy's statistics say of the server
seen() {
  get "$statistics" '/;csv' | tr -d '\r' | awk -F, -v server="$1" -v field="$2" '
    /^# pxname/ { sub(/^# /, ""); for (i = 1; i <= NF; i++) column[$i] = i }
    $1 == "servers" && $2 == server { print $column[field] }'
}

# until_true SECONDS COMMAND...: whether the command succeeds in time
until_true() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < end)) || return 1
    sleep 0.1
  done
}

# is NAME STATUS: whether HAProxy sees the server so
is() { [[ $(seen "$1" status) == "$2"* ]]; }
all_up() { is a UP && is b UP && is c UP; }

# end_all: ends what was started here
end_all() {
  kill "$haproxy" "${process[@]}" 2>/dev/null
  wait 2>/dev/null
}
