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
LoadedModule read_loaded(const NodeFiles& files, const std::string& name) {
  const std::string folder = "/sys/module/" + name;
  LoadedModule module;
  module.version = files.line(folder + "/version");
  const NameList parameters = files.list(folder + "/parameters");
  for (const std::string& parameter : parameters.value)
    module.parameters[parameter] = files.line(fmt::format("{}/parameters/{}", folder, parameter));
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

// Paths by module, from lines of modules.dep: "PATH: PATH PATH".
void take_dep_line(std::string_view line, const std::string& folder,
                   std::map<std::string, std::string>& out) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string path = valid_utf8(line.substr(0, colon));
  const std::string name = name_of_file(path);
  if (std::ranges::binary_search(known_modules(), name))
    out[name] = path.starts_with('/') ? path : folder + "/" + path;
}

// An empty line or a comment of a configuration file.
bool is_comment(std::string_view line) {
  return line.empty() || line.starts_with('#') || line.starts_with(';');
}

// The first file that names a module counts.
void note(TextMap& modules, std::string_view name, const std::string& path) {
  if (modules.value.size() < kMostNames) modules.value.emplace(valid_utf8(module_name(name)), path);
}

// A softdep in modprobe.d loads modules too.
void spoil_probes(BootSettings& boot, const FactInfo& told) {
  for (TextMap* map : {&boot.autoload, &boot.module_options, &boot.blacklist}) map->spoil_by(told);
}

// The modules that a file of modules-load.d names, one a line.
void take_autoload(const NodeFiles& files, const std::string& path, BootSettings& boot) {
  const auto each = [&](std::string_view line) {
    line = trimmed(line);
    if (!is_comment(line)) note(boot.autoload, fields_of(line)[0], path);
    return true;
  };
  boot.autoload.spoil_by(files.lines(path, kMostTextBytes, each));
}

// Parses "softdep nvidia post: nvidia-uvm nvidia-peermem": modules that load with another one.
void take_companions(std::string_view line, const std::string& path, BootSettings& boot) {
  const auto fields = fields_of(line, kMostDepends);
  for (std::size_t i = 2; i < fields.size(); ++i)
    if (!fields[i].ends_with(':')) note(boot.autoload, fields[i], path);
}

// "options", "blacklist" and "softdep" lines of a file of modprobe.d.
void take_options(const NodeFiles& files, const std::string& path, BootSettings& boot) {
  const auto each = [&](std::string_view line) {
    const auto fields = fields_of(line, 3);
    if (fields.size() < 2 || is_comment(fields[0])) return true;
    if (fields[0] == "softdep") take_companions(line, path, boot);
    if (fields[0] == "blacklist") note(boot.blacklist, fields[1], path);
    auto& all = boot.module_options.value;
    if (fields[0] != "options" || fields.size() < 3 || all.size() >= kMostNames) return true;
    const auto begin = static_cast<std::size_t>(fields[2].data() - line.data());
    std::string& options = all[valid_utf8(module_name(fields[1]))];
    options += (options.empty() ? "" : " ") + valid_utf8(trimmed(line.substr(begin)));
    return true;
  };
  spoil_probes(boot, files.lines(path, kMostTextBytes, each));
}

using Take = void (*)(const NodeFiles&, const std::string&, BootSettings&);

// Reads each file once: a file below /etc hides the file of the same name below /usr/lib. `spoil`
// receives the state of each folder.
template <class Spoil>
void take_folders(const NodeFiles& files, const std::string& name, Take take, BootSettings& boot,
                  Spoil spoil) {
  std::map<std::string, std::string> paths;
  for (const std::string folder : {"/usr/lib/", "/lib/", "/run/", "/etc/"}) {
    const NameList list = files.list(folder + name, kMostConfigFiles);
    spoil(boot, list);
    for (const std::string& file : list.value)
      if (file.ends_with(".conf")) paths[file] = fmt::format("{}{}/{}", folder, name, file);
  }
  for (const auto& [file, path] : paths)
    if (!files.link(path).is("null")) take(files, path, boot);  // /dev/null disables the file
}

}  // namespace

// The modules of GPUs, RDMA, their NICs and peer memory.
const std::vector<std::string_view>& known_modules() {
  static const auto* const names = new std::vector<std::string_view>(
      fields_of("amdgpu bnxt_en bnxt_re cxgb4 efa gdrdrv hfi1 i40iw ib_cm ib_core ib_ipoib ib_umad "
                "ib_uverbs ice irdma knem mana_ib mlx4_core mlx4_ib mlx5_core mlx5_ib mlx_compat "
                "mlxfw nouveau nv_peer_mem nvidia nvidia_drm nvidia_modeset nvidia_peermem "
                "nvidia_uvm rdma_cm rdma_rxe rdma_ucm siw vfio_pci xpmem"));
  return *names;
}

std::string module_name(std::string_view text) {
  std::string name(text);
  std::ranges::replace(name, '-', '_');
  return name;
}

// Loaded modules and their facts.
Apply read_modules(const NodeFiles& files) {
  std::set<std::string> loaded;
  const Fact<bool> list =
      files.lines("/proc/modules", kMostModulesBytes, [&](std::string_view line) {
        if (const auto fields = fields_of(line, 1); !fields.empty())
          loaded.insert(valid_utf8(fields[0]));
        return true;
      });
  std::map<std::string, LoadedModule> modules;
  for (const std::string_view known : known_modules()) {
    const std::string name(known);
    // A folder alone may belong to code that is built into the kernel; a loaded module has a state.
    const bool is_there =
        files.exists("/sys/module/" + name + "/initstate") || loaded.contains(name);
    if (is_there || files.exists("/sys/module/" + name)) modules[name] = read_loaded(files, name);
    if (is_there) modules[name].is_loaded = true;
  }
  return [list, loaded, modules](Inventory& inventory) {
    inventory.loaded_modules = {list, loaded};
    for (const auto& [name, module] : modules)
      static_cast<LoadedModule&>(inventory.modules[name]) = module;
  };
}

// Installed module files and the boot-time settings of modules.
Apply read_module_files(const NodeFiles& files) {
  const std::string folder = "/lib/modules/" + files.line("/proc/sys/kernel/osrelease").value;
  const std::string dep = folder + "/modules.dep";
  std::map<std::string, std::string> found;
  const Fact<bool> read = files.lines(dep, kMostDepBytes, [&](std::string_view line) {
    take_dep_line(line, folder, found);
    return true;
  });
  std::map<std::string, Fact<double>> modified;
  for (const auto& [name, path] : found) modified[name] = files.modified_unix_seconds(path);
  // Modules that were found count; further ones may exist.
  BootSettings boot{.autoload = TextMap::known({}, "/etc/modules-load.d"),
                    .module_options = TextMap::known({}, "/etc/modprobe.d"),
                    .blacklist = TextMap::known({}, "/etc/modprobe.d")};
  take_folders(files, "modules-load.d", take_autoload, boot,
               [](BootSettings& all, const FactInfo& told) { all.autoload.spoil_by(told); });
  take_autoload(files, "/etc/modules", boot);
  take_folders(files, "modprobe.d", take_options, boot, spoil_probes);
  return [=](Inventory& inventory) {
    put(boot)(inventory);
    for (const auto& [name, path] : found) {
      inventory.modules[name].file = Fact<std::string>::known(path, dep);
      inventory.modules[name].file_modified_unix_seconds = modified.at(name);
    }
    for (auto& [name, module] : inventory.modules)
      if (!found.contains(name)) module.file = or_absent<std::string>(read, {});
  };
}

// Symbol names are public, addresses are not. The file has some 10 MB, so it is read only if
// needed.
Apply read_symbols(const NodeFiles& files) {
  const char* const path = "/proc/kallsyms";
  const auto put_symbol = [](const Fact<bool>& symbol) {
    return [symbol](Inventory& inventory) { inventory.peer_memory_symbol = symbol; };
  };
  if (!files.exists("/sys/module/ib_core")) return put_symbol(Fact<bool>::absent(path));
  bool found = false;
  bool tells_ib_core = false;  // a masked file reports nothing, which is no answer
  const Fact<bool> read = files.lines(path, kMostSymbolBytes, [&](std::string_view line) {
    tells_ib_core = tells_ib_core || line.find(" ib_register_client") != std::string_view::npos;
    found = line.find(" ib_register_peer_memory_client") != std::string_view::npos;
    return !found;
  });
  if (read.is_known() && !found && !tells_ib_core)
    return put_symbol(Fact<bool>::unknown(path, std::string(path) + ": names nothing of ib_core"));
  return put_symbol({read, found});
}

}  // namespace railgauge::agent
