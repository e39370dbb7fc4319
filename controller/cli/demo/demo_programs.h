// The folder and the processes that the demo makes and takes away again. Not thread safe.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::cli {

// A new folder below TMPDIR, or /tmp, that only this user can read. It goes with the object.
class DemoFolder {
 public:
  // kPermissionDenied, kResourceExhausted: it cannot be made.
  static Result<std::unique_ptr<DemoFolder>> make();
  ~DemoFolder();
  DemoFolder(const DemoFolder&) = delete;
  DemoFolder& operator=(const DemoFolder&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] const std::string& path() const { return path_; }
  Status write(const std::string& name, const std::string& text) const;

 private:
  explicit DemoFolder(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

// A program that runs until the object goes: SIGTERM, then SIGKILL. It has a process group of its
// own, so that Ctrl-C at the terminal reaches the demo alone, none of the RAILGAUGE_ variables, and
// a log in place of a terminal.
class DemoProgram {
 public:
  // kNotFound: the program does not exist.
  static Result<std::unique_ptr<DemoProgram>> start(std::vector<std::string> argv, std::string log);
  ~DemoProgram();
  DemoProgram(const DemoProgram&) = delete;
  DemoProgram& operator=(const DemoProgram&) = delete;

  // kInternal: it has ended; the message has the last line of its log.
  Status check();
  [[nodiscard]] std::string log_text() const;

 private:
  DemoProgram(pid_t pid, std::string name, std::string log)
      : pid_(pid), name_(std::move(name)), log_(std::move(log)) {}
  pid_t pid_;  // -1: it has ended
  const std::string name_;
  const std::string log_;
};

// The path of a program in the folder of this one.
std::string beside_this_program(const std::string& name);

}  // namespace railgauge::cli
