# Sourced by the scripts. InfluxDB 1.x for the tests, as Debian packages it, in the cache.

# ensure_influxdb: unpacks the server and sets HOME_AGENT_INFLUXDB to its program.
ensure_influxdb() {
  local unpacked=$cache/influxdb
  HOME_AGENT_INFLUXDB=$unpacked/usr/bin/influxd
  export HOME_AGENT_INFLUXDB
  [[ ! -f $unpacked/.complete ]] || return 0
  ensure_python # finds what debian_bind needs
  say "fetching InfluxDB"
  debian_unpack "$unpacked" influxdb && debian_bind "$unpacked" usr/bin/influxd ||
    die "InfluxDB could not be installed: the tests need apt-get and a mirror of Debian"
  touch "$unpacked/.complete"
}
