// Versions of what an upgrade changes outside the kernel, from files and names of libraries:
// nothing is executed.
#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "agent/inventory/sources/rpm.h"
#include "agent/inventory/sources/sources.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

// Folders of shared libraries in the order of the search.
constexpr std::array kLibraryFolders{"/usr/lib/x86_64-linux-gnu",
                                     "/usr/lib/aarch64-linux-gnu",
                                     "/usr/lib64",
                                     "/usr/lib",
                                     "/usr/local/lib",
                                     "/usr/local/cuda/lib64",
                                     "/lib/x86_64-linux-gnu"};
constexpr std::size_t kMostPackageBytes = 64U << 20U;
constexpr std::size_t kMostPackages = 512;

// From the first folder that has it.
Fact<std::string> library_version(const NodeFiles& files, const std::string& soname,
                                  std::string_view prefix) {
  auto found = Fact<std::string>::absent(fmt::format("{}/{}", kLibraryFolders[0], soname));
  for (const char* folder : kLibraryFolders) {
    Fact<std::string> version = library_version(files, folder, soname, prefix);
    if (version.is_known()) return version;
    if (!version.is_absent()) found = version;
  }
  return found;
}

// rdma-core stamps its release on libibverbs: libibverbs.so.1.14.44.0 is rdma-core 44.0.
Fact<std::string> rdma_core_version(const NodeFiles& files) {
  Fact<std::string> version = library_version(files, "libibverbs.so.1", "libibverbs.so.1.");
  const std::size_t dot = version.value.find('.');
  if (version.is_known() && dot != std::string::npos) version.value = version.value.substr(dot + 1);
  return version;
}

// "KEY=value" or "KEY="value"" lines, as in os-release.
Fact<std::string> setting_of(const Fact<std::string>& text, std::string_view key) {
  if (!text.is_known()) return text;
  for (const std::string_view line : lines_in(text.value)) {
    const auto halves = split_at(line, '=');
    if (!halves || halves->first != key) continue;
    std::string_view value = halves->second;
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    return Fact<std::string>::known(std::string(value), text.source);
  }
  return Fact<std::string>::absent(text.source);
}

// Reads the installed OFED from its script: "MLNX_OFED_LINUX-24.10-0.7.0.0",
// "OFED-internal-24.10-0.7.0".
Fact<std::string> ofed_version(const NodeFiles& files) {
  constexpr std::string_view kPart =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  for (const char* path : {"/usr/bin/ofed_info", "/usr/sbin/ofed_info"}) {
    Fact<std::string> text = files.text(path);
    if (text.is_absent()) continue;
    if (!text.is_known()) return text;
    for (const std::string_view begin :
         {"MLNX_OFED_LINUX-", "DOCA_OFED", "OFED-internal-", "OFED-"}) {
      const std::size_t at = text.value.find(begin);
      if (at == std::string::npos) continue;
      const std::size_t end = std::min(text.value.find_first_not_of(kPart, at), text.value.size());
      return Fact<std::string>::known(text.value.substr(at, end - at), path);
    }
    return Fact<std::string>::error(path, std::string(path) + ": names no release");
  }
  return Fact<std::string>::absent("/usr/bin/ofed_info");
}

// The toolkit's own file; the first "version" in it is the toolkit's.
Fact<std::string> cuda_version(const NodeFiles& files) {
  const std::string path = "/usr/local/cuda/version.json";
  Fact<std::string> text = files.text(path);
  if (text.is_absent()) {
    Fact<std::string> old = files.line("/usr/local/cuda/version.txt");
    constexpr std::string_view kWords = "CUDA Version ";
    if (old.is_known() && old.value.starts_with(kWords))
      old.value = old.value.substr(kWords.size());
    return old;
  }
  if (!text.is_known()) return text;
  const std::size_t cuda = std::min(text.value.find("\"cuda\""), text.value.size());
  const std::size_t key = text.value.find("\"version\"", cuda);
  const std::size_t open = key == std::string::npos ? key : text.value.find('"', key + 9);
  const std::size_t close = open == std::string::npos ? open : text.value.find('"', open + 1);
  if (close == std::string::npos)
    return Fact<std::string>::error(path, path + ": names no version");
  return Fact<std::string>::known(text.value.substr(open + 1, close - open - 1), path);
}

// From pkg-config's file; a vendor puts its own below /opt.
Fact<std::string> pkgconfig_version(const NodeFiles& files, const char* name) {
  for (const char* folder : kLibraryFolders) {
    Fact<std::string> version = pkgconfig_version(files, folder, name);
    if (version.is_known()) return version;
  }
  return Fact<std::string>::absent(fmt::format("{}/pkgconfig/{}.pc", kLibraryFolders[0], name));
}

// Whether the inventory reports a package, by the beginning of its name.
bool is_ours(std::string_view package) {
  static const auto* const beginnings = new std::vector<std::string_view>(fields_of(
      "cuda-toolkit cuda-drivers cuda-cudart datacenter-gpu-manager doca- gdrcopy gdrdrv "
      "ibverbs- libgdrapi libibverbs libmpich libnccl libnvidia-compute libopenmpi libucx "
      "mlnx- mlnx_ofed mofed- mpich nv-peer-mem nv_peer_mem nvidia- nvidia_peer_mem "
      "openmpi rdma-core ucx"));
  return std::ranges::any_of(*beginnings,
                             [&](std::string_view begin) { return package.starts_with(begin); });
}

// Collects packages from dpkg's status file.
struct PackageReader {
  std::map<std::string, std::string> found;
  std::string name, version;
  bool is_installed = false;

  // "Package: NAME", "Status: ... installed", "Version: V", an empty line.
  bool take(std::string_view line) {
    if (line.empty()) {
      if (is_installed && is_ours(name) && found.size() < kMostPackages)
        found[valid_utf8(name)] = valid_utf8(version);
      name.clear();
      version.clear();
      is_installed = false;
    } else if (line.starts_with("Package: ")) {
      name = trimmed(line.substr(9));
    } else if (line.starts_with("Version: ")) {
      version = trimmed(line.substr(9));
    } else if (line.starts_with("Status: ")) {
      is_installed = line.ends_with(" installed");
    }
    return true;
  }
};

// The version of one of these packages, else what was found by file.
Fact<std::string> or_package(Fact<std::string> by_file, const TextMap& packages,
                             std::initializer_list<std::string_view> prefixes) {
  if (by_file.is_known() || !packages.is_known()) return by_file;
  for (const std::string_view prefix : prefixes) {
    const auto found = packages.value.lower_bound(std::string(prefix));
    if (found != packages.value.end() && found->first.starts_with(prefix))
      return Fact<std::string>::known(found->second, packages.source + " " + found->first);
  }
  return by_file;
}

// The settings of /etc/nccl.conf.
TextMap nccl_conf(const NodeFiles& files) {
  const Fact<std::string> text = files.text("/etc/nccl.conf");
  TextMap settings = text.without_value<std::map<std::string, std::string>>();
  for (const std::string_view line : lines_in(text.value))
    if (const auto halves = split_at(line, '='); halves && !halves->first.starts_with('#'))
      settings.value[std::string(halves->first)] = std::string(halves->second);
  return settings;
}

// The versions of modules that DKMS built.
TextMap read_dkms(const NodeFiles& files) {
  const std::string folder = "/var/lib/dkms";
  TextMap found = TextMap::absent(folder);
  const NameList modules = files.list(folder, kMostPackages);
  FactInfo told = modules;
  for (const std::string& module : modules.value) {
    const std::string path = fmt::format("{}/{}", folder, module);
    if (files.is_file(path)) continue;  // its signing key
    const NameList versions = files.list(path, kMostPackages);
    told.spoil_by(versions);
    for (const std::string& version : versions.value) {
      if (version.starts_with("kernel-") || version == "original_module") continue;
      found.state = FactState::kKnown;
      found.value[fmt::format("{}/{}", module, version)] = fmt::format("{}/{}", path, version);
    }
  }
  found.spoil_by(told);
  return found;
}

// The wanted packages of dpkg.
TextMap read_installed(const NodeFiles& files) {
  const std::string path = "/var/lib/dpkg/status";
  PackageReader reader;
  const Fact<bool> read = files.lines(path, kMostPackageBytes,
                                      [&](std::string_view line) { return reader.take(line); });
  reader.take("");
  TextMap packages{read, std::move(reader.found)};
  if (!read.is_absent()) return packages;
  const TextMap rpm = read_rpm(files, is_ours, kMostPackages);
  return rpm.is_absent() ? packages : rpm;
}

}  // namespace

Fact<std::string> library_version(const NodeFiles& files, const std::string& folder,
                                  const std::string& soname, std::string_view prefix) {
  const std::string path = fmt::format("{}/{}", folder, soname);
  const Fact<std::string> target = files.link(path);
  if (target.is_known() && target.value.starts_with(prefix) && target.value.size() > prefix.size())
    return Fact<std::string>::known(target.value.substr(prefix.size()), path);
  if (target.is_known() || target.state == FactState::kError)
    return Fact<std::string>::unknown(path, path + ": its name has no version");
  return Fact<std::string>::absent(path);
}

Fact<std::string> pkgconfig_version(const NodeFiles& files, const std::string& folder,
                                    const std::string& name) {
  constexpr std::string_view kKey = "Version:";
  const std::string path = fmt::format("{}/pkgconfig/{}.pc", folder, name);
  Fact<std::string> text = files.text(path);
  const std::size_t at = text.value.find(kKey);
  if (!text.is_known()) return text;
  const auto fields = at == std::string::npos
                          ? std::vector<std::string_view>{}
                          : fields_of(std::string_view(text.value).substr(at + kKey.size()), 1);
  if (!fields.empty()) return Fact<std::string>::known(std::string(fields[0]), path);
  return Fact<std::string>::unknown(path, path + ": names no version");
}

// Versions of the driver, CUDA, NCCL, rdma-core, OFED and the distribution.
Apply read_libraries(const NodeFiles& files) {
  Libraries read;
  const Fact<std::string> release = files.text("/etc/os-release");
  read.distribution = setting_of(release, "ID");
  read.distribution_version = setting_of(release, "VERSION_ID");
  read.distribution_like = setting_of(release, "ID_LIKE");
  read.gpu_driver = files.line("/sys/module/nvidia/version");
  read.ofed = ofed_version(files);
  read.rdma_core = rdma_core_version(files);
  read.cuda = cuda_version(files);
  read.nccl = library_version(files, "libnccl.so.2", "libnccl.so.");
  read.ucx = pkgconfig_version(files, "ucx");
  read.openmpi = pkgconfig_version(files, "ompi");
  read.mpich = pkgconfig_version(files, "mpich");
  read.nccl_conf = nccl_conf(files);
  read.dkms = read_dkms(files);
  return put(std::move(read));
}

// After the libraries: a package's version is used where no file has one.
Apply read_packages(const NodeFiles& files) {
  const TextMap packages = read_installed(files);
  const bool has_manager =
      files.exists("/usr/bin/nv-fabricmanager") || files.exists("/usr/share/nvidia/nvswitch");
  return [packages, has_manager](Inventory& inventory) {
    inventory.packages = packages;
    inventory.ucx = or_package(inventory.ucx, packages, {"ucx", "libucx"});
    inventory.openmpi = or_package(inventory.openmpi, packages, {"openmpi", "libopenmpi"});
    inventory.mpich = or_package(inventory.mpich, packages, {"mpich", "libmpich"});
    inventory.nccl = or_package(inventory.nccl, packages, {"libnccl"});
    const Fact<std::string> manager =
        has_manager ? Fact<std::string>::unknown("/usr/bin/nv-fabricmanager",
                                                 "fabric manager: no package shows its version")
                    : Fact<std::string>::absent("/usr/bin/nv-fabricmanager");
    inventory.fabric_manager =
        or_package(manager, packages, {"nvidia-fabricmanager", "nvidia-fabric-manager"});
  };
}

}  // namespace railgauge::agent
