// Device files that programs open to reach a NIC or a GPU's memory.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "agent/inventory/sources/sources.h"
#include "kernels/core/base/fd.h"

namespace railgauge::agent {
namespace {

constexpr const char* kVerbsFolder = "/dev/infiniband";

// Opens the file, since its mode proves little: a control group of devices (a unit's DeviceAllow=,
// a pod) may refuse what the mode allows, and a file may outlive its driver. Opening has no side
// effect here.
Fact<bool> try_open(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd) return Fact<bool>::known(true, path);
  const int error = errno;
  if (error == EMFILE || error == ENFILE || error == ENOMEM)
    return Fact<bool>::unknown(path, fmt::format("{}: open: {}", path, std::strerror(error)));
  Fact<bool> refused = Fact<bool>::known(false, path);
  refused.reason = std::strerror(error);
  if (error == EPERM && ::access(path.c_str(), R_OK | W_OK) == 0)
    refused.reason +=
        ", though its mode allows it: the control group of devices does not (DeviceAllow= of the "
        "unit, devices of the pod)";
  return refused;
}

}  // namespace

Fact<bool> can_open(const NodeFiles& files, const std::string& path) {
  const Fact<double> there = files.modified_unix_seconds(path);
  if (!there.is_known()) return there.without_value<bool>();
  if (files.is_this_machine()) return try_open(path);
  return Fact<bool>::known(::access(files.on_disk(path).c_str(), R_OK | W_OK) == 0, path);
}

// Tries the device files that measurements open: GDRCopy's, the connection manager's, and those of
// the verbs.
Apply read_device_nodes(const NodeFiles& files) {
  std::map<std::string, DeviceNode> nodes;
  std::vector<std::string> paths{"/dev/gdrdrv", "/dev/infiniband/rdma_cm"};
  const NameList names = files.list(kVerbsFolder);
  if (names.is_open()) nodes[kVerbsFolder].can_open = names.without_value<bool>();
  for (const std::string& name : names.value)
    if (name.starts_with("uverbs")) paths.push_back(fmt::format("{}/{}", kVerbsFolder, name));
  for (const std::string& path : paths) nodes[path].can_open = can_open(files, path);
  return [nodes](Inventory& inventory) { inventory.device_nodes = nodes; };
}

}  // namespace railgauge::agent
