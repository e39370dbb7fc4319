#include "agent/inventory/sources/rpm.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/base/handle.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

constexpr std::size_t kEntryBytes = 16;
constexpr std::size_t kIntroBytes = 8;
constexpr std::uint32_t kMostEntries = 65'536;
constexpr std::uint32_t kNameTag = 1000;
constexpr std::uint32_t kVersionTag = 1001;
constexpr std::uint32_t kReleaseTag = 1002;
constexpr std::uint32_t kStringType = 6;
constexpr int kMostNames = 200'000;

// Returns the big-endian number at `at`, which must be within `bytes`.
std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i)
    number = number << 8U | static_cast<unsigned char>(bytes[at + i]);
  return number;
}

struct DatabaseTraits {
  using Type = sqlite3*;
  static Type empty() { return nullptr; }
  static void release(Type database) { sqlite3_close_v2(database); }
};
struct StatementTraits {
  using Type = sqlite3_stmt*;
  static Type empty() { return nullptr; }
  static void release(Type statement) { sqlite3_finalize(statement); }
};

// The bytes of a column; valid until the next step.
std::string_view column_bytes(sqlite3_stmt* statement, int column) {
  const void* bytes = sqlite3_column_blob(statement, column);
  const int size = sqlite3_column_bytes(statement, column);
  return bytes == nullptr
             ? std::string_view()
             : std::string_view(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

class RpmDatabase {
 public:
  explicit RpmDatabase(std::string path) : path_(std::move(path)) {}

  // `on_disk`: where the path really is.
  PackageFact read(const std::string& on_disk,
                   const std::function<bool(std::string_view)>& is_wanted, std::size_t most) {
    sqlite3* raw = nullptr;
    // "immutable" makes SQLite create neither log nor lock, which would need write permission.
    const int opened = sqlite3_open_v2(uri_of(on_disk).c_str(), &raw,
                                       SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
    database_ = Handle<DatabaseTraits>(raw);
    if (opened != SQLITE_OK) return trouble("open");
    std::vector<std::int64_t> numbers;
    if (!list(is_wanted, most, numbers)) return trouble("list its packages");
    std::map<std::string, std::string> packages;
    for (const std::int64_t number : numbers)
      if (!add(number, packages)) return trouble("read a package");
    return PackageFact::known(std::move(packages), path_);
  }

 private:
  static std::string uri_of(const std::string& path) {
    std::string uri = "file:";
    for (const char c : path) {
      if (c == '?' || c == '#' || c == '%')
        uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
      else
        uri += c;
    }
    return uri + "?mode=ro&immutable=1";
  }

  PackageFact trouble(const char* act) const {
    const char* words = database_.get() == nullptr ? "no memory" : sqlite3_errmsg(database_.get());
    return PackageFact::error(path_, fmt::format("{}: {}: {}", path_, act, words));
  }

  Handle<StatementTraits> prepare(const char* sql) {
    sqlite3_stmt* raw = nullptr;
    static_cast<void>(sqlite3_prepare_v2(database_.get(), sql, -1, &raw, nullptr));
    return Handle<StatementTraits>(raw);
  }

  // A row for each name; the packages themselves are hundreds of kilobytes with their file lists.
  bool list(const std::function<bool(std::string_view)>& is_wanted, std::size_t most,
            std::vector<std::int64_t>& numbers) {
    const auto names = prepare("SELECT key, hnum FROM Name");
    if (names.get() == nullptr) return false;
    for (int row = 0; row < kMostNames && numbers.size() < most; ++row) {
      const int step = sqlite3_step(names.get());
      if (step == SQLITE_DONE) return true;
      if (step != SQLITE_ROW) return false;
      if (is_wanted(column_bytes(names.get(), 0)))
        numbers.push_back(sqlite3_column_int64(names.get(), 1));
    }
    return true;
  }

  bool add(std::int64_t number, std::map<std::string, std::string>& packages) {
    const auto found = prepare("SELECT substr(blob, 1, 65536) FROM Packages WHERE hnum=?1");
    if (found.get() == nullptr) return false;
    sqlite3_bind_int64(found.get(), 1, number);
    const int step = sqlite3_step(found.get());
    if (step == SQLITE_DONE) return true;
    if (step != SQLITE_ROW) return false;
    if (const auto package = parse_rpm_header(column_bytes(found.get(), 0)))
      packages[package->name] = package->version;
    return true;
  }

  std::string path_;
  Handle<DatabaseTraits> database_;
};

}  // namespace

std::optional<RpmPackage> parse_rpm_header(std::string_view bytes) {
  if (bytes.size() < kIntroBytes) return std::nullopt;
  const std::uint32_t entries = number_at(bytes, 0);
  if (entries > kMostEntries || bytes.size() - kIntroBytes < entries * kEntryBytes)
    return std::nullopt;
  const std::string_view data = bytes.substr(kIntroBytes + entries * kEntryBytes);
  std::map<std::uint32_t, std::string> texts;
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t at = kIntroBytes + i * kEntryBytes;
    const std::uint32_t tag = number_at(bytes, at);
    const std::size_t offset = number_at(bytes, at + 8);
    if (tag < kNameTag || tag > kReleaseTag || number_at(bytes, at + 4) != kStringType) continue;
    const std::size_t end = offset < data.size() ? data.find('\0', offset) : std::string_view::npos;
    if (end != std::string_view::npos && end - offset <= kMostLineBytes)
      texts[tag] = valid_utf8(data.substr(offset, end - offset));
  }
  if (texts[kNameTag].empty() || texts[kVersionTag].empty()) return std::nullopt;
  return RpmPackage{.name = texts[kNameTag],
                    .version = texts[kReleaseTag].empty()
                                   ? texts[kVersionTag]
                                   : texts[kVersionTag] + "-" + texts[kReleaseTag]};
}

PackageFact read_rpm(const NodeFiles& files, const std::function<bool(std::string_view)>& is_wanted,
                     std::size_t most) {
  constexpr std::array kFolders{"/var/lib/rpm", "/usr/lib/sysimage/rpm"};
  for (const char* folder : kFolders) {
    const std::string path = fmt::format("{}/rpmdb.sqlite", folder);
    if (files.exists(path)) return RpmDatabase(path).read(files.on_disk(path), is_wanted, most);
  }
  for (const char* folder : kFolders)
    for (const char* file : {"Packages", "Packages.db"})
      if (const std::string path = fmt::format("{}/{}", folder, file); files.exists(path))
        return PackageFact::unknown(
            path, path + ": an older format than SQLite; versions come from files instead");
  return PackageFact::absent(fmt::format("{}/rpmdb.sqlite", kFolders[0]));
}

}  // namespace railgauge::agent
