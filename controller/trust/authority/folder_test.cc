// The folder of an authority as other processes see it: modes, lock, replaced files, what a killed
// writer left, and files that are not its own.
#include "controller/trust/authority/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/trust/authority/issue.h"
#include "controller/trust/testing/authority_folder.h"

namespace railgauge::trust {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A block as read() accepts it, of one letter.
std::string block_of(char letter, std::size_t bytes = 1) {
  return "-----BEGIN X-----\n" + std::string(bytes, letter);
}

mode_t mode_of(const std::string& path) {
  struct stat file {};
  return ::lstat(path.c_str(), &file) == 0 ? file.st_mode & 07777U : 0;
}

std::vector<std::string> files_of(const std::string& path) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

Folder opened(const std::string& path, Folder::Use use) {
  auto folder = Folder::open(path, use);
  EXPECT_TRUE(folder) << folder.error().message;
  return std::move(folder).value();  // throws, which fails the test
}

// Whether a program outside could take the lock of the folder now.
bool is_free(const std::string& path) {
  const Fd lock(::open((path + "/.lock").c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_TRUE(lock) << "no lock file";
  const bool taken = ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
  EXPECT_TRUE(taken || errno == EWOULDBLOCK);
  return taken;
}

// A certificate that ca.key of the folder signs, with its key.
Staged made(const AuthorityFolder& authority, const std::string& name) {
  const std::string key = make_key().value_or("");
  const CertificateRequest request{
      .role = "agent", .name = name, .from_unix = unix_now(), .until_unix = unix_now() + 86'400};
  const auto certificate = make_certificate(
      request, key, {.certificate = authority.read("ca.crt"), .key = authority.read("ca.key")});
  EXPECT_TRUE(certificate) << certificate.error().message;
  return {.name = name, .certificate = certificate.value_or(""), .key = key};
}

IndexEntry entry_of(const Staged& staged) {
  return trust::entry_of(parse_certificate(staged.certificate).value_or(Certificate{}),
                         staged.name);
}

class Umask {
 public:
  explicit Umask(mode_t mask) : before_(::umask(mask)) {}
  ~Umask() { ::umask(before_); }
  Umask(const Umask&) = delete;
  Umask& operator=(const Umask&) = delete;

 private:
  mode_t before_;
};

TEST(Folder, HasItsModesUnderAnyUmask) {
  for (const mode_t mask : {mode_t{0}, mode_t{022}, mode_t{0177}}) {
    SCOPED_TRACE(fmt::format("umask {:03o}", mask));
    const AuthorityFolder parent;
    const std::string path = parent.path("new");
    {
      // A folder without x would be of no use: the mask of the files is set once it is there.
      const Umask narrow(mask & 077U);
      const Folder folder = opened(path, Folder::Use::kCreate);
      const Umask narrower(mask);
      ASSERT_TRUE(folder.replace("secret", block_of('s'), kSecretMode));
      ASSERT_TRUE(folder.replace("public", block_of('p'), kPublicMode));
    }
    EXPECT_EQ(mode_of(path), 0700U);
    EXPECT_EQ(mode_of(path + "/.lock"), 0600U);
    EXPECT_EQ(mode_of(path + "/secret"), 0600U);
    EXPECT_EQ(mode_of(path + "/public"), 0644U);
  }
}

TEST(Folder, IsMadeOnlyWhereThatIsAsked) {
  const AuthorityFolder parent;
  const std::string path = parent.path("a/b");
  for (const Folder::Use use : {Folder::Use::kRead, Folder::Use::kWrite}) {
    const auto missing = Folder::open(path, use);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Code::kNotFound);
    EXPECT_THAT(missing.error().message, HasSubstr("railgauge pki init"));
  }
  EXPECT_FALSE(std::filesystem::exists(parent.path("a")));
  opened(path, Folder::Use::kCreate);
  EXPECT_THAT(files_of(path), ElementsAre(".lock"));
  const auto file = Folder::open(parent.path("ca.crt"), Folder::Use::kCreate);
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr(parent.path("ca.crt")));
}

TEST(Folder, NoAuthorityIsWhereOthersCanWrite) {
  const AuthorityFolder authority;
  for (const unsigned mode : {0720U, 0770U, 0702U, 0777U, 01777U}) {
    SCOPED_TRACE(fmt::format("mode {:04o}", mode));
    const auto permissions = static_cast<std::filesystem::perms>(mode);
    std::filesystem::permissions(authority.path(), permissions);
    for (const auto use : {Folder::Use::kCreate, Folder::Use::kWrite}) {
      const auto folder = Folder::open(authority.path(), use);
      ASSERT_FALSE(folder);
      EXPECT_EQ(folder.error().code, Code::kPermissionDenied);
      EXPECT_THAT(folder.error().message, HasSubstr("chmod 700"));
    }
  }
  std::filesystem::permissions(authority.path(), std::filesystem::perms(0755));
  EXPECT_TRUE(Folder::open(authority.path(), Folder::Use::kWrite));
}

TEST(Folder, AWriterHoldsTheLockAndAReaderNeedsNone) {
  const AuthorityFolder authority;
  {
    const Folder writer = opened(authority.path(), Folder::Use::kWrite);
    EXPECT_FALSE(is_free(authority.path()));
    EXPECT_TRUE(opened(authority.path(), Folder::Use::kRead).index());
    EXPECT_FALSE(is_free(authority.path())) << "a reader that ends takes no lock from the writer";
  }
  EXPECT_TRUE(is_free(authority.path()));
  const Folder reader = opened(authority.path(), Folder::Use::kRead);
  EXPECT_TRUE(is_free(authority.path()));
}

TEST(Folder, AKilledWriterLeavesNoLock) {
  const AuthorityFolder authority;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto folder = Folder::open(authority.path(), Folder::Use::kWrite);
    const char held = folder ? 'y' : 'n';
    if (::write(ends[1], &held, 1) != 1) _exit(3);
    for (;;) ::pause();
  }
  char held = 0;
  EXPECT_EQ(::read(ends[0], &held, 1), 1);
  EXPECT_EQ(held, 'y');
  EXPECT_FALSE(is_free(authority.path()));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_TRUE(is_free(authority.path()));
}

// The old file stays as it is for whoever has it open or linked: it is never written to.
TEST(Folder, AFileIsReplacedAndNeverWrittenTo) {
  const AuthorityFolder authority;
  const Folder folder = opened(authority.path(), Folder::Use::kWrite);
  ASSERT_TRUE(folder.replace("n1.crt", block_of('a'), kPublicMode));
  std::filesystem::create_hard_link(authority.path("n1.crt"), authority.path("before"));
  ASSERT_TRUE(folder.replace("n1.crt", block_of('b'), kPublicMode));
  EXPECT_EQ(authority.read("n1.crt"), block_of('b'));
  EXPECT_EQ(authority.read("before"), block_of('a'));
}

TEST(Folder, AReaderSeesTheOldFileOrTheNewOne) {
  constexpr std::size_t kBytes = 300'000;
  const AuthorityFolder authority;
  const Folder folder = opened(authority.path(), Folder::Use::kWrite);
  ASSERT_TRUE(folder.replace("crl.pem", block_of('a', kBytes), kPublicMode));
  std::atomic<bool> ended = false;
  std::thread writer([&] {
    for (int i = 0; i < 50; ++i)
      EXPECT_TRUE(folder.replace("crl.pem", block_of(i % 2 == 0 ? 'b' : 'a', kBytes), kPublicMode));
    ended = true;
  });
  const Folder reader = opened(authority.path(), Folder::Use::kRead);
  std::string fault;
  while (!ended && fault.empty()) {
    const auto text = reader.read("crl.pem");
    if (!text)
      fault = text.error().message;
    else if (*text != block_of('a', kBytes) && *text != block_of('b', kBytes))
      fault = fmt::format("{} bytes, neither old nor new", text->size());
  }
  writer.join();
  EXPECT_EQ(fault, "");
}

// RLIMIT_FSIZE fails a write in its middle, as a full disk does.
TEST(Folder, AWriteThatFailsLeavesTheOldFileAndNamesTheCause) {
  const AuthorityFolder authority;
  {
    const Folder folder = opened(authority.path(), Folder::Use::kWrite);
    ASSERT_TRUE(folder.replace("n1.crt", block_of('a'), kPublicMode));
  }
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr rlimit kSmall{.rlim_cur = 4'096, .rlim_max = 4'096};
    ::signal(SIGXFSZ, SIG_IGN);
    const auto folder = Folder::open(authority.path(), Folder::Use::kWrite);
    if (!folder || ::setrlimit(RLIMIT_FSIZE, &kSmall) != 0) _exit(3);
    const Status kept = folder->replace("n1.crt", block_of('b', 10'000), kPublicMode);
    const std::string text = kept ? "replaced" : kept.error().message;
    _exit(::write(ends[1], text.data(), text.size()) > 0 ? 0 : 4);
  }
  ::close(ends[1]);
  std::string text(1'000, '\0');
  const ssize_t got = ::read(ends[0], text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  ::close(ends[0]);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_THAT(text, HasSubstr("write: File too large"));
  EXPECT_EQ(authority.read("n1.crt"), block_of('a'));
  opened(authority.path(), Folder::Use::kWrite);
  EXPECT_FALSE(std::filesystem::exists(authority.path(".n1.crt.draft"))) << "the half is removed";
}

TEST(Folder, ReadsNoKeyThatOthersCanRead) {
  const AuthorityFolder authority;
  const Folder folder = opened(authority.path(), Folder::Use::kWrite);
  ASSERT_TRUE(folder.replace("n1.key", block_of('k'), kSecretMode));
  EXPECT_TRUE(folder.read_secret("n1.key"));
  for (const unsigned mode : {0604U, 0644U, 0660U, 0602U, 0610U}) {
    SCOPED_TRACE(fmt::format("mode {:04o}", mode));
    std::filesystem::permissions(authority.path("n1.key"), std::filesystem::perms(mode));
    const auto key = folder.read_secret("n1.key");
    ASSERT_FALSE(key);
    EXPECT_EQ(key.error().code, Code::kPermissionDenied);
    EXPECT_THAT(key.error().message, testing::StartsWith(authority.path("n1.key")));
    EXPECT_THAT(key.error().message, HasSubstr("chmod 600"));
  }
  // Behind a link the mode of the file counts, not that of the link.
  std::filesystem::permissions(authority.path("n1.key"), std::filesystem::perms(0644));
  std::filesystem::create_symlink(authority.path("n1.key"), authority.path("n2.key"));
  EXPECT_EQ(folder.read_secret("n2.key").error().code, Code::kPermissionDenied);
  EXPECT_EQ(folder.read_secret("n3.key").error().code, Code::kNotFound);
}

TEST(Folder, PublishesKeyAndCertificateThatTheIndexNames) {
  const AuthorityFolder authority;
  const Staged n1 = made(authority, "n1");
  const Folder folder = opened(authority.path(), Folder::Use::kWrite);
  ASSERT_TRUE(folder.publish({n1}, {entry_of(n1)}, unix_now()));
  EXPECT_THAT(folder.certificates(), ElementsAre("ca", "n1"));
  EXPECT_EQ(authority.read("n1.crt"), n1.certificate);
  EXPECT_EQ(authority.read("n1.key"), n1.key);
  EXPECT_EQ(mode_of(authority.path("n1.crt")), 0644U);
  EXPECT_EQ(mode_of(authority.path("n1.key")), 0600U);
  ASSERT_TRUE(folder.index());
  EXPECT_EQ(folder.index()->size(), 1U);
  Staged renewed = made(authority, "n1");
  renewed.key.reset();
  ASSERT_TRUE(folder.publish({renewed}, {entry_of(n1), entry_of(renewed)}, unix_now()));
  EXPECT_EQ(authority.read("n1.crt"), renewed.certificate);
  EXPECT_EQ(authority.read("n1.key"), n1.key) << "without a key the one in place stays";
}

TEST(Folder, TheNextWriterFinishesWhatTheIndexNamesAndDiscardsTheRest) {
  const AuthorityFolder authority;
  const Staged named = made(authority, "named");
  const Staged unnamed = made(authority, "unnamed");
  {
    const Folder folder = opened(authority.path(), Folder::Use::kWrite);
    ASSERT_TRUE(folder.publish({}, {entry_of(named)}, unix_now()));
    for (const Staged& one : {named, unnamed}) {
      ASSERT_TRUE(folder.replace("." + one.name + ".key.next", *one.key, kSecretMode));
      ASSERT_TRUE(folder.replace("." + one.name + ".crt.next", one.certificate, kPublicMode));
    }
    ASSERT_TRUE(folder.replace(".half.crt.next", "-----BEGIN CERTIFI", kPublicMode));
    ASSERT_TRUE(folder.replace(".lonely.key.next", *unnamed.key, kSecretMode));
    ASSERT_TRUE(folder.replace(".index.txt.draft", "half a li", kPublicMode));
  }
  opened(authority.path(), Folder::Use::kRead);
  EXPECT_TRUE(std::filesystem::exists(authority.path(".named.crt.next"))) << "a reader changes "
                                                                             "nothing";
  opened(authority.path(), Folder::Use::kWrite);
  EXPECT_EQ(authority.read("named.crt"), named.certificate);
  EXPECT_EQ(authority.read("named.key"), *named.key);
  EXPECT_THAT(files_of(authority.path()), ElementsAre(".lock", "ca.crt", "ca.key", "crl.pem",
                                                      "index.txt", "named.crt", "named.key"));
}

TEST(Folder, LeavesFilesThatAreNotItsOwn) {
  const AuthorityFolder authority;
  for (const char* file : {"notes.txt", "backup.next", ".bashrc", "chain.pem"})
    std::ofstream(authority.path(file)) << "mine";
  std::filesystem::create_directory(authority.path("old"));
  const Folder folder = opened(authority.path(), Folder::Use::kWrite);
  const Staged n1 = made(authority, "n1");
  ASSERT_TRUE(folder.publish({n1}, {entry_of(n1)}, unix_now()));
  for (const char* file : {"notes.txt", "backup.next", ".bashrc", "chain.pem"})
    EXPECT_EQ(authority.read(file), "mine") << file;
  EXPECT_TRUE(std::filesystem::is_directory(authority.path("old")));
  EXPECT_THAT(folder.certificates(), ElementsAre("ca", "n1"));
}

TEST(Folder, FollowsNoLinkWhereItWrites) {
  const AuthorityFolder authority;
  const std::string victim = authority.path("victim");
  std::ofstream(victim) << "as it was";
  for (const char* link : {".n1.crt.draft", ".n1.key.next", ".n1.crt.next", "n1.crt", "n1.key"})
    std::filesystem::create_symlink(victim, authority.path(link));
  const Staged n1 = made(authority, "n1");
  {
    const Folder folder = opened(authority.path(), Folder::Use::kWrite);
    std::filesystem::create_symlink(victim, authority.path(".n1.key.next"));
    ASSERT_TRUE(folder.publish({n1}, {entry_of(n1)}, unix_now()));
    ASSERT_TRUE(folder.replace("n1.crt", n1.certificate, kPublicMode));
  }
  EXPECT_EQ(authority.read("victim"), "as it was");
  for (const char* file : {"n1.crt", "n1.key"})
    EXPECT_FALSE(std::filesystem::is_symlink(authority.path(file))) << file;
  // The lock and the index are opened where they are: a link there is refused.
  const std::filesystem::path other = authority.path("other");
  std::filesystem::create_directory(other);
  std::filesystem::create_symlink(victim, other / ".lock");
  const auto locked = Folder::open(other.string(), Folder::Use::kWrite);
  ASSERT_FALSE(locked);
  EXPECT_THAT(locked.error().message, HasSubstr(".lock: open: Too many levels of symbolic links"));
  std::filesystem::remove(other / ".lock");
  std::filesystem::create_symlink(victim, other / "index.txt");
  const auto indexed = Folder::open(other.string(), Folder::Use::kWrite);
  ASSERT_FALSE(indexed);
  EXPECT_THAT(indexed.error().message, HasSubstr("index.txt: open: Too many levels"));
  EXPECT_EQ(authority.read("victim"), "as it was");
}

// A FIFO in the place of a file would hold up whoever reads it.
TEST(Folder, ReadsNoFifoAndNoFolder) {
  const AuthorityFolder authority;
  ASSERT_EQ(::mkfifo(authority.path("n1.crt").c_str(), 0600), 0);
  std::filesystem::create_directory(authority.path("n2.key"));
  const Folder folder = opened(authority.path(), Folder::Use::kRead);
  EXPECT_THAT(folder.read("n1.crt").error().message, HasSubstr("no regular file"));
  EXPECT_THAT(folder.read_secret("n2.key").error().message, HasSubstr("no regular file"));
  EXPECT_EQ(folder.read("n3.crt").error().code, Code::kNotFound);
}

TEST(Folder, AnIndexThatIsDamagedEndsEveryWriterAndTheCureIsNamed) {
  const AuthorityFolder authority;
  std::ofstream(authority.path("index.txt"), std::ios::app) << "half a li";
  const std::string before = authority.read("index.txt");
  const auto writer = Folder::open(authority.path(), Folder::Use::kWrite);
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().code, Code::kDataLoss);
  EXPECT_THAT(writer.error().message, HasSubstr("put a backup in its place"));
  EXPECT_TRUE(is_free(authority.path()));
  EXPECT_EQ(authority.read("index.txt"), before);
  EXPECT_THAT(opened(authority.path(), Folder::Use::kRead).certificates(), ElementsAre("ca"));
}

}  // namespace
}  // namespace railgauge::trust
