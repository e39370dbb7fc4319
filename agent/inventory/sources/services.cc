// The enablement of services, read from unit files and links. systemd is not asked, since it may
// hang.
#include <array>

#include <fmt/format.h>

#include "agent/inventory/sources/sources.h"

namespace railgauge::agent {
namespace {

constexpr std::size_t kMostUnits = 2048;
constexpr const char* kAdministrator = "/etc/systemd/system";

// The services that matter for GPUs and RDMA.
constexpr std::array kServices{"dcgm",           "irqbalance",
                               "kubelet",        "nv_peer_mem",
                               "nvidia-dcgm",    "nvidia-fabricmanager",
                               "nvidia-imex",    "nvidia-persistenced",
                               "nvidia-peermem", "openibd",
                               "opensmd",        "opensm",
                               "rdma",           "rdma-ndd",
                               "slurmd",         "tuned"};

// The enabled units; open where an unread place may enable more.
using Enabled = Fact<std::set<std::string>>;

// Folders like multi-user.target.wants that hold links to what is enabled.
Enabled enabled_units(const NodeFiles& files) {
  Enabled units = Enabled::known({}, kAdministrator);
  const NameList folders = files.list(kAdministrator, kMostUnits);
  units.spoil_by(folders);
  for (const std::string& folder : folders.value) {
    if (!folder.ends_with(".wants") && !folder.ends_with(".requires")) continue;
    const NameList links = files.list(fmt::format("{}/{}", kAdministrator, folder), kMostUnits);
    units.spoil_by(links);
    units.value.insert(links.value.begin(), links.value.end());
  }
  return units;
}

// Returns the SysV scripts that systemd still runs: /etc/rc3.d/S20nv_peer_mem.
Enabled enabled_scripts(const NodeFiles& files) {
  constexpr std::size_t kOrder = 3;  // "S20"
  Enabled scripts = Enabled::known({}, "/etc/rc3.d");
  for (const char* level : {"/etc/rc2.d", "/etc/rc3.d", "/etc/rc5.d", "/etc/rc.d/rc3.d"}) {
    const NameList links = files.list(level, kMostUnits);
    scripts.spoil_by(links);
    for (const std::string& name : links.value)
      if (name.starts_with('S') && name.size() > kOrder) scripts.value.insert(name.substr(kOrder));
  }
  return scripts;
}

// The state of a service from the unit folders in order of precedence, else from its SysV script.
Fact<std::string> enablement_of(const NodeFiles& files, const std::string& name,
                                const Enabled& units, const Enabled& scripts) {
  const std::string unit = name + ".service";
  const std::string own = fmt::format("{}/{}", kAdministrator, unit);
  if (const auto link = files.link(own); link.is_known() && link.value == "null")
    return Fact<std::string>::known("masked", own);
  for (const std::string folder :
       {kAdministrator, "/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"}) {
    const std::string path = fmt::format("{}/{}", folder, unit);
    Fact<std::string> text = files.text(path);
    if (text.is_absent()) continue;
    if (units.value.contains(unit)) return Fact<std::string>::known("enabled", path);
    if (!text.is_known()) return text;
    if (units.is_open()) return units.without_value<std::string>();
    const bool installs = text.value.find("[Install]") != std::string::npos;
    return Fact<std::string>::known(installs ? "disabled" : "static", path);
  }
  const std::string script = "/etc/init.d/" + name;
  const Fact<double> there = files.modified_unix_seconds(script);
  if (there.is_absent())
    return units.is_open() ? units.without_value<std::string>() : Fact<std::string>::absent(own);
  if (scripts.value.contains(name)) return Fact<std::string>::known("enabled", script);
  if (there.is_open()) return there.without_value<std::string>();
  if (scripts.is_open()) return scripts.without_value<std::string>();
  return Fact<std::string>::known("disabled", script);
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

Apply read_services(const NodeFiles& files) {
  const Enabled units = enabled_units(files);
  const Enabled scripts = enabled_scripts(files);
  std::map<std::string, ServiceFacts> services;
  for (const char* name : kServices)
    services[name] = {.enablement = enablement_of(files, name, units, scripts),
                      .active = active_of(files, name)};
  return [services](Inventory& inventory) { inventory.services = services; };
}

}  // namespace railgauge::agent
