#include "controller/http/basic_auth.h"

#include <crypt.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/result.h"
#include "kernels/core/text/text.h"

namespace railgauge::http {
namespace {

constexpr std::size_t kHashBytes = 60;
constexpr std::size_t kMostCredentialBytes = 512;
constexpr std::size_t kMostWrong = 256;  // remembered
constexpr std::size_t kMostWaiting = 4;  // sources whose password waits to be checked
constexpr double kMostWaitSeconds = 5;
constexpr double kPauseFactor = 4;  // of a check's duration, after a wrong password

// Compares the password's hash in a time that does not depend on where they differ.
bool fits(const std::string& password, const std::string& hash, crypt_data& scratch) {
  const char* made = crypt_r(password.c_str(), hash.c_str(), &scratch);
  const bool right = made != nullptr && std::string_view(made).size() == hash.size() &&
                     CRYPTO_memcmp(made, hash.data(), hash.size()) == 0;
  OPENSSL_cleanse(&scratch, sizeof(scratch));
  return right;
}

}  // namespace

std::optional<std::string> credentials_of(std::string_view header) {
  constexpr std::string_view kScheme = "basic ";
  if (header.size() <= kScheme.size() || header.size() > kMostCredentialBytes) return std::nullopt;
  for (std::size_t i = 0; i < kScheme.size(); ++i)
    if ((header[i] | (kScheme[i] == ' ' ? 0 : 0x20)) != kScheme[i]) return std::nullopt;
  const std::string_view code = header.substr(kScheme.size());
  if (code.size() % 4 != 0 || !made_of(code, "+/=")) return std::nullopt;
  std::string bytes(code.size() / 4 * 3, '\0');
  if (EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(code.data()),
                      static_cast<int>(code.size())) < 0)
    return std::nullopt;
  const std::size_t padding = code.ends_with("==") ? 2 : code.ends_with('=') ? 1 : 0;
  bytes.resize(bytes.size() - padding);
  // A C string ends at a zero byte, and "secret" would be as right as "secret\0...".
  if (bytes.find(':') == std::string::npos || bytes.find('\0') != std::string::npos)
    return std::nullopt;
  return bytes;
}

int bcrypt_cost(std::string_view hash) {
  const bool shaped = hash.size() == kHashBytes && hash.starts_with("$2") &&
                      std::string_view("aby").find(hash[2]) != std::string_view::npos &&
                      hash[3] == '$' && made_of(hash.substr(4, 2), "") && hash[6] == '$' &&
                      made_of(hash.substr(7), "./");
  if (!shaped || hash[4] > '3' || hash[5] > '9') return 0;
  return (hash[4] - '0') * 10 + (hash[5] - '0');
}

BasicAuth::BasicAuth(std::vector<User> users) : users_(std::move(users)) {
  RG_CHECK(RAND_bytes(key_.data(), static_cast<int>(key_.size())) == 1);
  // As costly as the first name's, and of no password.
  if (!users_.empty()) other_hash_ = users_.front().hash.substr(0, 7) + std::string(53, '.');
}

BasicAuth::Digest BasicAuth::digest_of(const std::string& credentials) const {
  Digest digest{};
  HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
       reinterpret_cast<const unsigned char*>(credentials.data()), credentials.size(),
       digest.data(), nullptr);
  return digest;
}

BasicAuth::Answer BasicAuth::check(std::string_view header, const std::string& source) {
  const auto credentials = credentials_of(header);
  if (!credentials) return Answer::kWrong;
  const Digest digest = digest_of(*credentials);
  {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(digest);
    if (found != known_.end()) return found->second ? Answer::kRight : Answer::kWrong;
  }
  const std::size_t colon = credentials->find(':');
  return compute(credentials->substr(0, colon), credentials->substr(colon + 1), digest, source);
}

std::string BasicAuth::user_of(std::string_view header) const {
  const auto credentials = credentials_of(header);
  if (!credentials) return "";
  const auto* user = row_where(users_, &User::name, credentials->substr(0, credentials->find(':')));
  return user == nullptr ? "" : user->name;
}

BasicAuth::Answer BasicAuth::compute(const std::string& name, const std::string& password,
                                     const Digest& digest, const std::string& source) {
  // 32 KiB, before the turn is taken: without memory nobody's turn is lost.
  const auto scratch = std::make_unique<crypt_data>();
  std::unique_lock lock(mutex_);
  if (waiting_.size() >= kMostWaiting || !waiting_.insert(source).second) return Answer::kBusy;
  const double give_up_ns = monotonic_now_ns() + kMostWaitSeconds * 1e9;
  while (is_checking_ || monotonic_now_ns() < next_ns_) {
    if (monotonic_now_ns() > give_up_ns) {
      waiting_.erase(source);
      return Answer::kBusy;
    }
    turn_.wait_for(lock, std::chrono::milliseconds(20));
  }
  is_checking_ = true;
  lock.unlock();
  const double begin_ns = monotonic_now_ns();
  const auto* user = row_where(users_, &User::name, name);
  const bool right =
      fits(password, user == nullptr ? other_hash_ : user->hash, *scratch) && user != nullptr;
  const double end_ns = monotonic_now_ns();
  lock.lock();
  is_checking_ = false;
  waiting_.erase(source);
  next_ns_ = right ? 0 : end_ns + kPauseFactor * (end_ns - begin_ns);
  remember(digest, right);
  turn_.notify_all();
  return right ? Answer::kRight : Answer::kWrong;
}

// Right ones are as few as the users; wrong ones push out wrong ones.
void BasicAuth::remember(const Digest& digest, bool is_right) {
  if (!known_.emplace(digest, is_right).second || is_right) return;
  wrong_.push_back(digest);
  if (wrong_.size() <= kMostWrong) return;
  known_.erase(wrong_.front());
  wrong_.pop_front();
}

}  // namespace railgauge::http
