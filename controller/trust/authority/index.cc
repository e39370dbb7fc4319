#include "controller/trust/authority/index.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

#include <fmt/format.h>

#include "kernels/core/text/text.h"

namespace railgauge::trust {
namespace {

constexpr std::string_view kEnding = ".crt";
constexpr std::size_t kFields = 6;

// "261126120000Z", from 2050 on "20501126120000Z", as ASN.1 writes times.
std::string time_text(double unix_seconds) {
  const auto seconds = static_cast<std::time_t>(unix_seconds);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  constexpr int kFirstLongYear = 150;  // of tm_year: 2050
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(),
                parts.tm_year < kFirstLongYear ? "%y%m%d%H%M%SZ" : "%Y%m%d%H%M%SZ", &parts);
  return text.data();
}

// Unix seconds; below 0 for any other text. A revocation may have ",reason" behind its time.
double time_in(std::string_view text) {
  text = text.substr(0, text.find(','));
  constexpr std::size_t kShort = 13;
  constexpr std::size_t kLong = 15;
  if ((text.size() != kShort && text.size() != kLong) || text.back() != 'Z') return -1;
  text.remove_suffix(1);
  if (text.find_first_not_of("0123456789") != std::string_view::npos) return -1;
  const auto take = [&text](std::size_t digits) {
    int value = 0;
    for (const char c : text.substr(0, digits)) value = value * 10 + (c - '0');
    text.remove_prefix(digits);
    return value;
  };
  std::tm parts{};
  constexpr int kEpoch = 1900;
  constexpr int kPivot = 50;  // of two digits: 49 is 2049, 50 is 1950
  if (text.size() + 1 == kShort) {
    const int year = take(2);
    parts.tm_year = year < kPivot ? year + 100 : year;
  } else {
    parts.tm_year = take(4) - kEpoch;
  }
  parts.tm_mon = take(2) - 1;
  parts.tm_mday = take(2);
  parts.tm_hour = take(2);
  parts.tm_min = take(2);
  parts.tm_sec = take(2);
  return static_cast<double>(::timegm(&parts));
}

// The value of the last part "/KEY=VALUE" of a subject.
std::string part_of(const std::string& subject, std::string_view key) {
  const std::string before = fmt::format("/{}=", key);
  const std::size_t at = subject.rfind(before);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + before.size();
  return subject.substr(begin, subject.find('/', begin) - begin);
}

bool is_serial(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789ABCDEF") == std::string_view::npos;
}

}  // namespace

std::string IndexEntry::name() const {
  if (file.ends_with(kEnding)) return file.substr(0, file.size() - kEnding.size());
  return part_of(subject, "CN");
}

std::string IndexEntry::role() const { return part_of(subject, "OU"); }

Result<std::vector<IndexEntry>> parse_index(std::string_view text) {
  std::vector<IndexEntry> entries;
  std::size_t number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    const auto fields = split(line, '\t');
    const bool whole = fields.size() == kFields && time_in(fields[1]) >= 0 && is_serial(fields[3]);
    const double revoked = whole && !fields[2].empty() ? time_in(fields[2]) : 0;
    if (!whole || revoked < 0 || (fields[0] == "R") != (revoked > 0))
      return fail(Code::kDataLoss, fmt::format("line {} is no entry of an index", number));
    entries.push_back({.serial = std::string(fields[3]),
                       .file = std::string(fields[4]),
                       .subject = std::string(fields[5]),
                       .until_unix = time_in(fields[1]),
                       .revoked_unix = revoked});
  }
  return entries;
}

std::string index_text(const std::vector<IndexEntry>& entries, double now_unix) {
  std::string text;
  for (const IndexEntry& entry : entries) {
    const bool revoked = entry.revoked_unix > 0;
    const char* state = revoked ? "R" : entry.until_unix <= now_unix ? "E" : "V";
    text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", state, time_text(entry.until_unix),
                        revoked ? time_text(entry.revoked_unix) : "", entry.serial, entry.file,
                        entry.subject);
  }
  return text;
}

IndexEntry entry_of(const Certificate& certificate, const std::string& name) {
  // "CN=n1,OU=agent,O=railgauge" the other way round. The parts of these subjects need no escapes.
  std::string subject;
  for (const std::string_view part : split(certificate.subject, ','))
    subject = fmt::format("/{}{}", part, subject);
  std::ranges::replace_if(
      subject, [](unsigned char c) { return c < ' '; }, '?');
  return {.serial = certificate.id.serial,
          .file = name + std::string(kEnding),
          .subject = subject,
          .until_unix = certificate.until_unix};
}

}  // namespace railgauge::trust
