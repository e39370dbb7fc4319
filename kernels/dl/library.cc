// dlopen and dlsym of vendor libraries.
#include "kernels/dl/library.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>

#include <fmt/format.h>

namespace railgauge {

// RTLD_NOW: a library with an unresolved symbol fails here and not inside a measurement.
// RTLD_LOCAL: two vendors' symbols do not meet.
Result<Library> Library::open(const std::string& name) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* words = dlerror();
    return fail(Code::kNotFound, words != nullptr ? words : name + ": the loader gives no reason");
  }
  link_map* map = nullptr;
  std::string path = name;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && *map->l_name != '\0') {
    std::error_code unresolved;
    const auto real = std::filesystem::canonical(map->l_name, unresolved);
    path = unresolved ? std::string(map->l_name) : real.string();
  }
  return Library(handle, std::move(path));
}

Result<Library> Library::open(const std::string& name, std::string_view who,
                              std::string_view help) {
  auto library = open(name);
  if (library) return library;
  return fail(library.error().code, fmt::format("{}: {}; {}", who, library.error().message, help));
}

// Package managers name the file for its release: libcuda.so.580.159.04.
std::string Library::version() const {
  const std::size_t at = path_.rfind(".so.");
  return at == std::string::npos ? "unknown" : path_.substr(at + 4);
}

// nullptr means absent: no function of these libraries has the address 0.
void* Library::address_of(const char* symbol) const { return dlsym(handle_, symbol); }

}  // namespace railgauge
