#include "controller/cli/demo/demo_programs.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/spawn.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

// A controller without a run ends in less than a second.
constexpr double kEndSeconds = 15;
constexpr double kKillSeconds = 5;
constexpr int kKillMs = 5'000;
constexpr std::size_t kMostSocketPath = sizeof(sockaddr_un::sun_path) - 1;
constexpr int kNoProgram = 127;
constexpr std::string_view kFolderPrefix = "railgauge-demo-";
constexpr std::string_view kLock = "demo.lock";

std::vector<std::string> environment_without_settings() {
  std::vector<std::string> kept;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!std::string_view(*entry).starts_with("RAILGAUGE_")) kept.emplace_back(*entry);
  return kept;
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "it wrote nothing";
  const std::size_t begin = text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

// Opens the folder's lock and takes it. None when a demo has it, or when there is no such file: the
// folder may be about to get one.
Fd lock_of(const std::filesystem::path& folder) {
  Fd lock(::open((folder / kLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) lock = Fd();
  return lock;
}

// Gives the folder a lock that is already taken when it gets its name. None: errno says why.
Fd make_lock(const std::string& folder) {
  const std::string name = folder + "/" + std::string(kLock);
  const std::string before = name + ".new";
  Fd lock(::open(before.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (lock &&
      (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 || ::rename(before.c_str(), name.c_str()) != 0))
    lock = Fd();
  return lock;
}

// Removes the folders of this user's demos that were killed.
void remove_left_folders(const std::filesystem::path& base) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(base, ignored)) {
    struct stat about {};
    if (!entry.path().filename().string().starts_with(kFolderPrefix) ||
        ::lstat(entry.path().c_str(), &about) != 0 || !S_ISDIR(about.st_mode) ||
        about.st_uid != ::geteuid())
      continue;
    if (const Fd lock = lock_of(entry.path())) std::filesystem::remove_all(entry.path(), ignored);
  }
}

// As execve(2) takes them; they point into `words`, which must stay.
std::vector<char*> pointers_of(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

// In a child of a process of many threads: system calls alone. Returns where there is no program.
int become(int log, const std::vector<char*>& words, const std::vector<char*>& variables) {
  ::setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  ::execve(words.front(), words.data(), variables.data());
  return kNoProgram;
}

}  // namespace

void DemoRemains::set_folder(std::string path) {
  const std::scoped_lock lock(mutex_);
  folder_ = std::move(path);
}

void DemoRemains::add(pid_t program) {
  const std::scoped_lock lock(mutex_);
  programs_.insert(program);
}

void DemoRemains::drop(pid_t program) {
  const std::scoped_lock lock(mutex_);
  programs_.erase(program);
}

// A program that still writes would fill the folder again.
void DemoRemains::take_away() {
  const std::scoped_lock lock(mutex_);
  for (const pid_t program : programs_) ::kill(program, SIGKILL);
  for (const pid_t program : programs_) {
    // Reaping is for the thread that waits for it, if there still is one.
    const Fd end = exit_fd_of(program);
    pollfd ended{end.get(), POLLIN, 0};
    ::poll(&ended, 1, kKillMs);
  }
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

// The path is part of the sockets' addresses, of YAML and of the commands that the demo prints.
Result<std::unique_ptr<DemoFolder>> DemoFolder::make(DemoRemains& remains) {
  std::error_code error;
  std::filesystem::path base = std::filesystem::temp_directory_path(error);
  if (error) base = "/tmp";
  base = std::filesystem::absolute(base, error).lexically_normal();
  if (!made_of(base.string(), "/_-.+,@="))
    return fail(Code::kInvalidArgument,
                fmt::format("demo: TMPDIR {}: a socket's address takes letters, digits and / _ - . "
                            "+ , @ = alone; TMPDIR=/tmp would do",
                            in_quotes(base.string())));
  std::string path = (base / (std::string(kFolderPrefix) + "XXXXXX")).string();
  const std::size_t most = kMostSocketPath - kDemoSocket.size() - 1;
  if (path.size() > most)
    return fail(Code::kInvalidArgument,
                fmt::format("demo: TMPDIR {}: a socket's path has at most {} bytes, so that TMPDIR "
                            "may have {}; TMPDIR=/tmp would do",
                            in_quotes(base.string()), kMostSocketPath,
                            most - (path.size() - base.string().size())));
  remove_left_folders(base);
  const auto refused = [&base] {
    return fail(errno == EACCES ? Code::kPermissionDenied : Code::kResourceExhausted,
                fmt::format("demo: a folder below {}: {}; TMPDIR names another one", base.string(),
                            errno_words(errno)));
  };
  if (::mkdtemp(path.data()) == nullptr) return refused();
  remains.set_folder(path);
  Fd lock = make_lock(path);
  if (!lock) return refused();
  return std::unique_ptr<DemoFolder>(new DemoFolder(std::move(path), std::move(lock)));
}

DemoFolder::~DemoFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Status DemoFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream file(path(name));
  file << text;
  file.close();
  if (file) return {};
  return fail(Code::kResourceExhausted,
              fmt::format("demo: {}: write: {}", path(name), errno_words(errno)));
}

Result<std::unique_ptr<DemoProgram>> DemoProgram::start(std::vector<std::string> argv,
                                                        std::string log, DemoRemains& remains) {
  const std::string name = std::filesystem::path(argv.front()).filename().string();
  if (::access(argv.front().c_str(), X_OK) != 0)
    return fail(Code::kNotFound,
                fmt::format("demo: {}: start: {}", argv.front(), errno_words(errno)));
  const Fd out(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (out.get() < 0)
    return fail(Code::kResourceExhausted,
                fmt::format("demo: {}: open: {}", log, errno_words(errno)));
  std::vector<std::string> environment = environment_without_settings();
  const std::vector<char*> words = pointers_of(argv);
  const std::vector<char*> variables = pointers_of(environment);
  const pid_t pid =
      RG_TRY(fork_process("railgauge demo", [&] { return become(out.get(), words, variables); }));
  remains.add(pid);
  return std::unique_ptr<DemoProgram>(new DemoProgram(pid, name, std::move(log), remains));
}

DemoProgram::~DemoProgram() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGTERM);
  if (!wait_for_end(pid_, kEndSeconds)) {
    ::kill(pid_, SIGKILL);
    wait_for_end(pid_, kKillSeconds);
  }
  remains_.drop(pid_);
}

Status DemoProgram::check() {
  if (pid_ >= 0 && wait_for_end(pid_, 0)) {
    remains_.drop(pid_);
    pid_ = -1;
  }
  if (pid_ >= 0) return {};
  return fail(Code::kInternal, fmt::format("demo: {} has ended: {}", name_, last_line(log_text())));
}

std::string DemoProgram::log_text() const {
  std::ifstream file(log_);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string beside_this_program(const std::string& name) {
  std::error_code ignored;
  return (std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / name).string();
}

}  // namespace railgauge::cli
