#include "kernels/core/base/exhaustion.h"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#ifdef RAILGAUGE_ADDRESS_SANITIZER
#include <sanitizer/lsan_interface.h>
#endif

namespace railgauge {
namespace {

std::atomic<const char*> program_name = nullptr;
std::atomic<bool> has_said = false;
thread_local int may_fail = 0;

constexpr std::size_t kMegabyte = 1U << 20U;

// By the kernel, since the allocator's own lock may be held.
bool has_left(std::size_t bytes) {
  void* some = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (some == MAP_FAILED) return false;
  ::munmap(some, bytes);
  return true;
}

// Only the first of several threads says why.
void say(std::string_view cause) {
  if (has_said.exchange(true)) return;
  const char* name = program_name.load();
  if (name == nullptr) name = "railgauge";
  constexpr std::string_view kColon = ": ";
  constexpr std::string_view kEnd = "\n";
  const auto part = [](std::string_view text) {
    return iovec{.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
  };
  const std::array parts{part(name), part(kColon), part(cause), part(kEnd)};
  static_cast<void>(::writev(STDERR_FILENO, parts.data(), static_cast<int>(parts.size())) < 0);
}

void on_failed_new() {
  if (may_fail > 0 && has_left(kMegabyte)) throw std::bad_alloc();
  end_exhausted(
      "memory: an allocation failed; the process ends, and what it has acknowledged is kept; raise "
      "its memory limit");
}

// After this the process ends by the signal's default action. A library that allocates without a
// look at the outcome crashes on it, for a message of many megabytes while a few are left.
void on_crash(int signal) {
  if (!has_left(64 * kMegabyte))
    say("memory: a library's allocation failed; the process ends, and what it has acknowledged is "
        "kept; raise its memory limit");
  ::raise(signal);  // the default action is its action again; also where somebody sent it
}

// A sanitizer's handler stays.
void say_why_at(int signal) {
  struct sigaction action {};
  if (::sigaction(signal, nullptr, &action) != 0 || (action.sa_flags & SA_SIGINFO) != 0 ||
      action.sa_handler != SIG_DFL)
    return;
  action = {};
  action.sa_handler = on_crash;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void end_when_exhausted(const char* program) {
  program_name = program;
  std::set_new_handler(on_failed_new);
  say_why_at(SIGABRT);
  say_why_at(SIGSEGV);
}

bool ends_when_exhausted() { return program_name.load() != nullptr && may_fail == 0; }

void end_exhausted(std::string_view cause) {
  say(cause);
  std::abort();
}

void end_program(int code) {
  std::fflush(nullptr);
#ifdef RAILGAUGE_ADDRESS_SANITIZER
  __lsan_do_leak_check();
#endif
  std::_Exit(code);
}

MayFail::MayFail() { ++may_fail; }
MayFail::~MayFail() { --may_fail; }

}  // namespace railgauge
