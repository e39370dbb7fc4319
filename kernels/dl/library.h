// A vendor library loaded at run time, with typed access to its symbols. The only owner of
// <dlfcn.h>. A library is never unloaded: drivers leave threads and exit handlers behind.
#pragma once

#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

namespace railgauge {

// A library that stays loaded for the life of the process. Copyable; thread safe.
class Library {
 public:
  // Opens `name` as the loader takes it: "libfoo.so.1" or a path. kNotFound with the loader's text.
  static Result<Library> open(const std::string& name);
  // Opens with a message for people: `who` names the library in front, `help` the remedy behind.
  static Result<Library> open(const std::string& name, std::string_view who, std::string_view help);

  // Returns the function `symbol`, or nullptr.
  template <class Function>
  [[nodiscard]] Function find(const char* symbol) const {
    return reinterpret_cast<Function>(address_of(symbol));
  }
  // Returns the function `symbol`; kUnimplemented when the library lacks it.
  template <class Function>
  [[nodiscard]] Result<Function> bind(const char* symbol) const {
    if (auto* function = find<Function>(symbol)) return function;
    return fail(Code::kUnimplemented, path_ + ": lacks the function " + symbol);
  }

  // Returns the file that the loader opened, links resolved.
  [[nodiscard]] const std::string& path() const { return path_; }
  // Returns the text behind ".so." in the file's name ("1.14.44.0"), or "unknown".
  [[nodiscard]] std::string version() const;

 private:
  Library(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  [[nodiscard]] void* address_of(const char* symbol) const;

  // The loader's handle, never closed.
  void* handle_;
  std::string path_;
};

}  // namespace railgauge
