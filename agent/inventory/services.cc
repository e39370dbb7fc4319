// How services are set to start, read from unit files and links: systemd is not asked, so a node
// whose manager hangs is told too.
#include <fmt/format.h>

#include "agent/inventory/sources.h"

namespace railgauge::agent {
namespace {

constexpr std::size_t kMostUnits = 2048;
constexpr const char* kAdministrator = "/etc/systemd/system";

// Folders like multi-user.target.wants that hold links to what is enabled.
std::set<std::string> enabled_units(const NodeFiles& files) {
  std::set<std::string> units;
  for (const std::string& folder : files.names(kAdministrator, kMostUnits))
    if (folder.ends_with(".wants") || folder.ends_with(".requires"))
      for (const std::string& unit :
           files.names(fmt::format("{}/{}", kAdministrator, folder), kMostUnits))
        units.insert(unit);
  return units;
}

// /etc/rc3.d/S20nv_peer_mem: scripts of before systemd, which it still runs.
std::set<std::string> enabled_scripts(const NodeFiles& files) {
  constexpr std::size_t kOrder = 3;  // "S20"
  std::set<std::string> scripts;
  for (const char* level : {"/etc/rc2.d", "/etc/rc3.d", "/etc/rc5.d", "/etc/rc.d/rc3.d"})
    for (const std::string& name : files.names(level, kMostUnits))
      if (name.starts_with('S') && name.size() > kOrder) scripts.insert(name.substr(kOrder));
  return scripts;
}

Fact<std::string> enablement_of(const NodeFiles& files, const std::string& name,
                                const std::set<std::string>& units,
                                const std::set<std::string>& scripts) {
  const std::string unit = name + ".service";
  const std::string own = fmt::format("{}/{}", kAdministrator, unit);
  if (const auto link = files.link(own); link.is_known() && link.value == "null")
    return Fact<std::string>::known("masked", own);
  for (const std::string folder :
       {kAdministrator, "/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"}) {
    const std::string path = folder + "/" + unit;
    const Fact<std::string> text = files.text(path);
    if (text.is_absent()) continue;
    if (units.contains(unit)) return Fact<std::string>::known("enabled", path);
    if (!text.is_known()) return text;
    const bool installs = text.value.find("[Install]") != std::string::npos;
    return Fact<std::string>::known(installs ? "disabled" : "static", path);
  }
  const std::string script = "/etc/init.d/" + name;
  if (!files.exists(script)) return Fact<std::string>::absent(own);
  return Fact<std::string>::known(scripts.contains(name) ? "enabled" : "disabled", script);
}

// A service that runs has a control group of its own.
Fact<bool> active_of(const NodeFiles& files, const std::string& name) {
  const std::string group = fmt::format("/sys/fs/cgroup/system.slice/{}.service", name);
  const std::string legacy = fmt::format("/sys/fs/cgroup/systemd/system.slice/{}.service", name);
  if (files.exists(group) || files.exists(legacy)) return Fact<bool>::known(true, group);
  if (files.exists("/sys/fs/cgroup/system.slice") ||
      files.exists("/sys/fs/cgroup/systemd/system.slice"))
    return Fact<bool>::known(false, group);
  return Fact<bool>::unknown(group, group + ": no control groups of services are seen here");
}

}  // namespace

const std::vector<std::string>& known_services() {
  static const auto* const names =
      new std::vector<std::string>{"dcgm",           "irqbalance",
                                   "kubelet",        "nv_peer_mem",
                                   "nvidia-dcgm",    "nvidia-fabricmanager",
                                   "nvidia-imex",    "nvidia-persistenced",
                                   "nvidia-peermem", "openibd",
                                   "opensmd",        "opensm",
                                   "rdma",           "rdma-ndd",
                                   "slurmd",         "tuned"};
  return *names;
}

Apply read_services(const NodeFiles& files) {
  const std::set<std::string> units = enabled_units(files);
  const std::set<std::string> scripts = enabled_scripts(files);
  std::map<std::string, ServiceFacts> services;
  for (const std::string& name : known_services())
    services[name] = {.enablement = enablement_of(files, name, units, scripts),
                      .active = active_of(files, name)};
  return [services](Inventory& inventory) { inventory.services = services; };
}

}  // namespace railgauge::agent
