// Kernel modules: what is loaded, with versions and parameters; what is installed; what is loaded
// at boot, with which options.
#include <algorithm>

#include <fmt/format.h>

#include "agent/inventory/sources/sources.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

constexpr std::size_t kMostModulesBytes = 1U << 20U;
constexpr std::size_t kMostDepBytes = 16U << 20U;
constexpr std::size_t kMostSymbolBytes = 64U << 20U;
constexpr std::size_t kMostConfigFiles = 256;
constexpr std::size_t kMostDepends = 64;

// The facts of a loaded module from /sys/module/NAME.
ModuleFacts read_loaded(const NodeFiles& files, const std::string& name) {
  const std::string folder = "/sys/module/" + name;
  ModuleFacts module;
  module.version = files.line(folder + "/version");
  module.srcversion = files.line(folder + "/srcversion");
  const NameList parameters = files.list(folder + "/parameters");
  for (const std::string& parameter : parameters.value)
    module.parameters[parameter] = files.line(folder + "/parameters/" + parameter);
  module.parameters_told = parameters.without_value<bool>();
  const NameList holders = files.list(folder + "/holders");
  module.holders = holders.value;
  module.holders_told = holders.without_value<bool>();
  return module;
}

// "/lib/modules/R/updates/dkms/nvidia-peermem.ko.zst" to "nvidia_peermem".
std::string name_of_file(std::string_view path) {
  path = path.substr(path.rfind('/') + 1);
  return module_name(path.substr(0, path.find(".ko")));
}

// A module file by modules.dep.
struct ModuleFile {
  std::string path;
  std::vector<std::string> depends;
  Fact<double> modified;
};
using ModuleFileMap = std::map<std::string, ModuleFile>;

// Lines of modules.dep: "PATH: PATH PATH".
void take_dep_line(std::string_view line, const std::string& folder, ModuleFileMap& out) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const auto full = [&](std::string_view path) {
    return path.starts_with('/') ? std::string(path) : folder + "/" + std::string(path);
  };
  const std::string name = name_of_file(line.substr(0, colon));
  if (!std::ranges::binary_search(known_modules(), name)) return;
  ModuleFile& file = out[name];
  file.path = valid_utf8(full(line.substr(0, colon)));
  file.depends.clear();
  for (const std::string_view path : fields_of(line.substr(colon + 1), kMostDepends))
    file.depends.push_back(valid_utf8(full(path)));
}

// The settings of modules-load.d and modprobe.d.
struct BootSettings {
  std::map<std::string, std::string> autoload;
  std::map<std::string, std::string> options;
  std::map<std::string, std::string> blacklist;
  // The first place that was not read: of modules-load.d, of modprobe.d.
  Fact<bool> loads = Fact<bool>::known(true, "/etc/modules-load.d");
  Fact<bool> probes = Fact<bool>::known(true, "/etc/modprobe.d");
};

// An empty line or a comment of a configuration file.
bool is_comment(std::string_view line) {
  return line.empty() || line.starts_with('#') || line.starts_with(';');
}

// The modules that a file of modules-load.d names, one a line.
void take_autoload(const NodeFiles& files, const std::string& path, BootSettings& boot) {
  const auto each = [&](std::string_view line) {
    line = trimmed(line);
    if (!is_comment(line) && boot.autoload.size() < kMostNames)
      boot.autoload.emplace(valid_utf8(module_name(fields_of(line)[0])), path);
    return true;
  };
  boot.loads.spoil_by(files.lines(path, kMostTextBytes, each));
}

// "softdep nvidia post: nvidia-uvm nvidia-peermem": what comes along with another module.
void take_companions(std::string_view line, const std::string& path, BootSettings& boot) {
  const auto fields = fields_of(line, kMostDepends);
  for (std::size_t i = 2; i < fields.size() && boot.autoload.size() < kMostNames; ++i)
    if (!fields[i].ends_with(':')) boot.autoload.emplace(valid_utf8(module_name(fields[i])), path);
}

// "options", "blacklist" and "softdep" lines of a file of modprobe.d.
void take_options(const NodeFiles& files, const std::string& path, BootSettings& boot) {
  const auto each = [&](std::string_view line) {
    const auto fields = fields_of(line, 3);
    if (fields.size() < 2 || is_comment(fields[0])) return true;
    if (fields[0] == "softdep") take_companions(line, path, boot);
    const std::string module = valid_utf8(module_name(fields[1]));
    if (fields[0] == "blacklist" && boot.blacklist.size() < kMostNames)
      boot.blacklist.emplace(module, path);
    if (fields[0] != "options" || fields.size() < 3 || boot.options.size() >= kMostNames)
      return true;
    const auto begin = static_cast<std::size_t>(fields[2].data() - line.data());
    std::string& options = boot.options[module];
    options += (options.empty() ? "" : " ") + valid_utf8(trimmed(line.substr(begin)));
    return true;
  };
  boot.probes.spoil_by(files.lines(path, kMostTextBytes, each));
}

using Take = void (*)(const NodeFiles&, const std::string&, BootSettings&);

// A file below /etc hides the one of the same name below /usr/lib.
void take_folders(const NodeFiles& files, const std::string& name, Take take, BootSettings& boot,
                  Fact<bool>& told) {
  std::map<std::string, std::string> paths;
  for (const std::string folder : {"/usr/lib/", "/lib/", "/run/", "/etc/"}) {
    const NameList list = files.list(folder + name, kMostConfigFiles);
    told.spoil_by(list);
    for (const std::string& file : list.value)
      if (file.ends_with(".conf")) paths[file] = folder + name + "/" + file;
  }
  for (const auto& [file, path] : paths)
    if (!files.link(path).is("null")) take(files, path, boot);  // a link to /dev/null takes it away
}

}  // namespace

// The modules of GPUs, RDMA, their NICs and peer memory.
const std::vector<std::string>& known_modules() {
  static const auto* const names = new std::vector<std::string>{"amdgpu",
                                                                "bnxt_en",
                                                                "bnxt_re",
                                                                "cxgb4",
                                                                "efa",
                                                                "gdrdrv",
                                                                "hfi1",
                                                                "i40iw",
                                                                "ib_cm",
                                                                "ib_core",
                                                                "ib_ipoib",
                                                                "ib_umad",
                                                                "ib_uverbs",
                                                                "ice",
                                                                "irdma",
                                                                "knem",
                                                                "mana_ib",
                                                                "mlx4_core",
                                                                "mlx4_ib",
                                                                "mlx5_core",
                                                                "mlx5_ib",
                                                                "mlx_compat",
                                                                "mlxfw",
                                                                "nouveau",
                                                                "nv_peer_mem",
                                                                "nvidia",
                                                                "nvidia_drm",
                                                                "nvidia_modeset",
                                                                "nvidia_peermem",
                                                                "nvidia_uvm",
                                                                "rdma_cm",
                                                                "rdma_rxe",
                                                                "rdma_ucm",
                                                                "siw",
                                                                "vfio_pci",
                                                                "xpmem"};
  return *names;
}

std::string module_name(std::string_view text) {
  std::string name(text);
  std::ranges::replace(name, '-', '_');
  return name;
}

// Loaded modules, their facts, and the clients of the legacy peer-memory registry.
Apply read_modules(const NodeFiles& files) {
  std::set<std::string> loaded;
  const Fact<bool> list =
      files.lines("/proc/modules", kMostModulesBytes, [&](std::string_view line) {
        if (const auto fields = fields_of(line, 1); !fields.empty())
          loaded.insert(valid_utf8(fields[0]));
        return true;
      });
  std::map<std::string, ModuleFacts> modules;
  for (const std::string& name : known_modules()) {
    // A folder alone may be code that is built into the kernel; what is loaded has a state.
    const bool is_there =
        files.exists("/sys/module/" + name + "/initstate") || loaded.contains(name);
    if (is_there || files.exists("/sys/module/" + name)) modules[name] = read_loaded(files, name);
    if (is_there) modules[name].is_loaded = true;
  }
  Fact<std::set<std::string>> names = list.without_value<std::set<std::string>>();
  names.value = std::move(loaded);
  Fact<std::map<std::string, std::string>> peers =
      Fact<std::map<std::string, std::string>>::absent("/sys/kernel/mm/memory_peers");
  const NameList peer_names = files.list("/sys/kernel/mm/memory_peers");
  for (const std::string& peer : peer_names.value) {
    peers.state = FactState::kKnown;
    peers.value[peer] = files.line("/sys/kernel/mm/memory_peers/" + peer + "/version").value;
  }
  peers.spoil_by(peer_names);
  return [=](Inventory& inventory) {
    inventory.loaded_modules = names;
    inventory.memory_peers = peers;
    for (const auto& [name, facts] : modules) {
      ModuleFacts& module = inventory.modules[name];
      module.is_loaded = facts.is_loaded;
      module.version = facts.version;
      module.srcversion = facts.srcversion;
      module.parameters = facts.parameters;
      module.parameters_told = facts.parameters_told;
      module.holders = facts.holders;
      module.holders_told = facts.holders_told;
    }
  };
}

// Installed module files and the boot-time settings of modules.
Apply read_module_files(const NodeFiles& files) {
  const std::string folder = "/lib/modules/" + files.line("/proc/sys/kernel/osrelease").value;
  const std::string dep = folder + "/modules.dep";
  ModuleFileMap found;
  const Fact<bool> read = files.lines(dep, kMostDepBytes, [&](std::string_view line) {
    take_dep_line(line, folder, found);
    return true;
  });
  for (auto& [name, file] : found) file.modified = files.modified_unix_seconds(file.path);
  BootSettings boot;
  take_folders(files, "modules-load.d", take_autoload, boot, boot.loads);
  take_autoload(files, "/etc/modules", boot);
  take_folders(files, "modprobe.d", take_options, boot, boot.probes);
  return [=](Inventory& inventory) {
    using Map = Fact<std::map<std::string, std::string>>;
    inventory.autoload = Map::known(boot.autoload, "/etc/modules-load.d");
    inventory.module_options = Map::known(boot.options, "/etc/modprobe.d");
    inventory.blacklist = Map::known(boot.blacklist, "/etc/modprobe.d");
    // Found modules count, and the rest is open. A softdep in modprobe.d loads modules too.
    inventory.autoload.spoil_by(boot.loads);
    for (Map* map : {&inventory.autoload, &inventory.module_options, &inventory.blacklist})
      map->spoil_by(boot.probes);
    for (const std::string& name : known_modules()) {
      const auto file = found.find(name);
      if (file == found.end()) {
        const auto known = inventory.modules.find(name);
        if (known == inventory.modules.end()) continue;
        known->second.file =
            read.is_known() ? Fact<std::string>::absent(dep) : read.without_value<std::string>();
        continue;
      }
      ModuleFacts& module = inventory.modules[name];
      module.file = Fact<std::string>::known(file->second.path, dep);
      module.depends = file->second.depends;
      module.file_modified_unix_seconds = file->second.modified;
    }
  };
}

// Names are shown to everybody, addresses are not. Some 10 MB: asked only where it can matter.
Apply read_symbols(const NodeFiles& files) {
  const char* const path = "/proc/kallsyms";
  if (!files.exists("/sys/module/ib_core"))
    return
        [path](Inventory& inventory) { inventory.peer_memory_symbol = Fact<bool>::absent(path); };
  bool found = false;
  bool tells_ib_core = false;  // a masked file reports nothing, which is no answer
  const Fact<bool> read = files.lines(path, kMostSymbolBytes, [&](std::string_view line) {
    tells_ib_core = tells_ib_core || line.find(" ib_register_client") != std::string_view::npos;
    found = line.find(" ib_register_peer_memory_client") != std::string_view::npos;
    return !found;
  });
  Fact<bool> symbol = read;
  symbol.value = found;
  if (read.is_known() && !found && !tells_ib_core)
    symbol = Fact<bool>::unknown(path, std::string(path) + ": names nothing of ib_core");
  return [symbol](Inventory& inventory) { inventory.peer_memory_symbol = symbol; };
}

}  // namespace railgauge::agent
