// The folder and the processes that the demo makes and takes away again. Not thread safe.
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"

namespace railgauge::cli {

// The controller's socket, in the folder.
inline constexpr std::string_view kDemoSocket = "c.sock";

// Folder and programs of a demo that is ended at once, without its destructors. Thread safe.
class DemoRemains {
 public:
  void set_folder(std::string path);
  void add(pid_t program);
  void drop(pid_t program);
  // Kills the programs and removes the folder.
  void take_away();

 private:
  std::mutex mutex_;
  std::string folder_;
  std::set<pid_t> programs_;
};

// A new folder below TMPDIR, or /tmp, that only this user can read. It goes with the object; one
// that a killed demo of this user left there goes when the next folder is made.
class DemoFolder {
 public:
  // kPermissionDenied, kResourceExhausted: it cannot be made. kInvalidArgument: its path cannot be
  // that of a socket, since TMPDIR is too long or has characters that an address has no place for.
  static Result<std::unique_ptr<DemoFolder>> make(DemoRemains& remains);
  ~DemoFolder();
  DemoFolder(const DemoFolder&) = delete;
  DemoFolder& operator=(const DemoFolder&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] const std::string& path() const { return path_; }
  Status write(const std::string& name, const std::string& text) const;

 private:
  DemoFolder(std::string path, Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  const std::string path_;
  const Fd lock_;  // of a file in the folder, while its demo lives
};

// A program that runs until the object goes: SIGTERM, then SIGKILL. It is killed when the thread
// that started it ends, as by SIGKILL. It has a process group of its own, so that Ctrl-C at the
// terminal reaches the demo alone, none of the RAILGAUGE_ variables, and a log in place of a
// terminal.
class DemoProgram {
 public:
  // kNotFound: the program does not exist, or cannot be executed.
  static Result<std::unique_ptr<DemoProgram>> start(std::vector<std::string> argv, std::string log,
                                                    DemoRemains& remains);
  ~DemoProgram();
  DemoProgram(const DemoProgram&) = delete;
  DemoProgram& operator=(const DemoProgram&) = delete;

  // kInternal: it has ended; the message has the last line of its log.
  Status check();
  [[nodiscard]] std::string log_text() const;

 private:
  DemoProgram(pid_t pid, std::string name, std::string log, DemoRemains& remains)
      : pid_(pid), name_(std::move(name)), log_(std::move(log)), remains_(remains) {}
  pid_t pid_;  // -1: it has ended
  const std::string name_;
  const std::string log_;
  DemoRemains& remains_;
};

// The path of a program in the folder of this one.
std::string beside_this_program(const std::string& name);

}  // namespace railgauge::cli
