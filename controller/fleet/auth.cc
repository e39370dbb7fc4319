#include "controller/fleet/auth.h"

#include <grp.h>
#include <grpcpp/grpcpp.h>
#include <pwd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "controller/api/on_behalf.h"
#include "controller/trust/identity_uri.h"

namespace railgauge::auth {
namespace {

constexpr std::string_view kDescriptorPrefix = "fd:";
constexpr int kMaxGroups = 1'024;
constexpr std::size_t kUserBufferBytes = 16'384;

// In the order of the enumerators; those of a certificate are the words of its OU.
constexpr std::array<std::string_view, 6> kRoleNames{"no known role", "agent",      "operator",
                                                     "viewer",        "controller", "any role"};

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const int lower = std::tolower(static_cast<unsigned char>(c));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// One character of an RFC 2253 value, with its escapes (\, and \2C); advances `at`.
char take_character(std::string_view text, std::size_t& at) {
  if (text[at] != '\\' || at + 1 >= text.size()) return text[at++];
  if (at + 2 < text.size() && hex_digit(text[at + 1]) >= 0 && hex_digit(text[at + 2]) >= 0) {
    at += 3;
    return static_cast<char>(hex_digit(text[at - 2]) * 16 + hex_digit(text[at - 1]));
  }
  at += 2;
  return text[at - 1];
}

// The user's name in the system's database; absent for an unknown one.
std::optional<std::string> known_name(uid_t uid) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, kUserBufferBytes> buffer{};
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return std::nullopt;
  return entry.pw_name;
}

}  // namespace

std::string_view name_of(Role role) { return kRoleNames.at(static_cast<std::size_t>(role)); }

Role role_named(std::string_view text) {
  const auto* found = std::ranges::find(kRoleNames, text);
  return found == kRoleNames.end() ? Role::kNone : static_cast<Role>(found - kRoleNames.begin());
}

bool may_connect(const Credentials& peer, uid_t own_uid, std::optional<gid_t> group) {
  if (peer.uid == 0 || peer.uid == own_uid) return true;
  return group &&
         (peer.gid == *group || std::ranges::find(peer.groups, *group) != peer.groups.end());
}

std::string user_name(uid_t uid) { return known_name(uid).value_or(fmt::format("uid {}", uid)); }

Result<Credentials> credentials_of(int fd) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return fail(Code::kPermissionDenied,
                fmt::format("control socket: peer credentials: {}", std::strerror(errno)));
  Credentials peer{.uid = credentials.uid, .gid = credentials.gid};
  const std::optional<std::string> name = known_name(peer.uid);
  if (!name) return peer;  // an unknown user is in no group
  int count = kMaxGroups;
  peer.groups.resize(kMaxGroups);
  if (getgrouplist(name->c_str(), peer.gid, peer.groups.data(), &count) < 0) count = 0;
  peer.groups.resize(static_cast<std::size_t>(count));
  return peer;
}

void PeerBook::set(int fd, std::string user) {
  const std::lock_guard lock(mutex_);
  users_[fd] = std::move(user);
}

Peer PeerBook::peer_of(const grpc::ServerContextBase& context) const {
  Peer peer = caller_of(context);
  if (on_call_ && peer.connection != 0) on_call_(peer);
  return peer;
}

std::string PeerBook::name_of(const grpc::ServerContextBase& context) {
  std::string name = context.peer();
  if (name != kInProcess) return name;
  const auto found = context.client_metadata().find(api::kOnBehalfOf);
  if (found == context.client_metadata().end()) return name;
  return {found->second.data(), found->second.size()};
}

Peer PeerBook::caller_of(const grpc::ServerContextBase& context) const {
  Peer peer{.address = name_of(context)};
  if (peer.address.starts_with(kDescriptorPrefix)) {
    int fd = -1;
    std::from_chars(peer.address.data() + kDescriptorPrefix.size(),
                    peer.address.data() + peer.address.size(), fd);
    const std::lock_guard lock(mutex_);
    const auto user = users_.find(fd);
    if (user == users_.end()) return peer;
    peer.role = Role::kAny;
    peer.who = user->second;
    peer.address = "unix socket";
    return peer;
  }
  {
    const std::lock_guard lock(mutex_);
    const auto found = entered_.find(peer.address);
    if (found == entered_.end()) {
      peer.who = peer.address;
      peer.refusal = "its connection is not known";
      return peer;
    }
    peer = found->second;
  }
  if (is_revoked_ && !peer.certificate.serial.empty() && is_revoked_(peer.certificate)) {
    peer.role = Role::kNone;
    peer.refusal = fmt::format("its certificate, serial {}, is revoked", peer.certificate.serial);
  }
  return peer;
}

void PeerBook::enter(const std::string& name, Peer peer) {
  const std::lock_guard lock(mutex_);
  entered_[name] = std::move(peer);
}

void PeerBook::leave(const std::string& name, double now) {
  const std::lock_guard lock(mutex_);
  left_.emplace_back(now, name);
  while (!left_.empty() && left_.front().first + kLateSeconds <= now) {
    entered_.erase(left_.front().second);
    left_.pop_front();
  }
}

std::vector<std::uint64_t> PeerBook::invalid_connections(double now, double now_unix) {
  std::vector<std::uint64_t> connections;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, peer] : entered_) {
    if (peer.certificate.serial.empty()) continue;
    bool is_invalid = now_unix > peer.certificate_until_unix;
    if (is_revoked_ && is_revoked_(peer.certificate))
      is_invalid =
          now - revoked_since_.try_emplace(peer.certificate, now).first->second >= kReasonSeconds;
    if (is_invalid && peer.connection != 0) connections.push_back(peer.connection);
  }
  return connections;
}

PeerBook::Call PeerBook::begin(const grpc::ServerContextBase& context, const Peer& peer) const {
  if (peer.certificate.serial.empty()) return {};
  const std::lock_guard lock(calls_mutex_);
  calls_.emplace(&context, peer.certificate);
  return {this, &context};
}

void PeerBook::Call::end() {
  if (book_ == nullptr) return;
  const std::lock_guard lock(book_->calls_mutex_);
  book_->calls_.erase(context_);
  book_ = nullptr;
}

// A context is alive while it is entered, and nobody leaves while the lock is held.
std::size_t PeerBook::cancel_revoked() const {
  if (!is_revoked_) return 0;
  const std::lock_guard lock(calls_mutex_);
  std::vector<const grpc::ServerContextBase*> revoked;
  for (const auto& [context, certificate] : calls_)
    if (is_revoked_(certificate)) revoked.push_back(context);
  for (const grpc::ServerContextBase* context : revoked)
    if (calls_.contains(context)) context->TryCancel();
  return revoked.size();
}

Peer anybody(std::string address, std::uint64_t connection) {
  Peer peer{.role = Role::kAny, .who = address, .connection = connection};
  peer.address = std::move(address);
  return peer;
}

Peer holder_of(const trust::Certificate& certificate, std::string address,
               std::uint64_t connection) {
  Peer peer{.address = std::move(address), .connection = connection};
  identify(parse_subject(certificate.subject), certificate, peer);
  if (peer.who.empty()) peer.who = peer.address;
  return peer;
}

Subject parse_subject(std::string_view text) {
  Subject subject;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t equals = text.find('=', at);
    if (equals == std::string_view::npos) return {};
    const std::string_view key = text.substr(at, equals - at);
    at = equals + 1;
    std::string value;
    while (at < text.size() && text[at] != ',' && text[at] != '+')
      value.push_back(take_character(text, at));
    if (at < text.size()) ++at;
    if (key == "CN")
      subject.common_names.push_back(std::move(value));
    else if (key == "OU")
      subject.units.push_back(std::move(value));
  }
  return subject;
}

Role role_of(const Subject& subject) {
  if (subject.units.size() != 1) return Role::kNone;
  for (const Role role : {Role::kAgent, Role::kOperator, Role::kViewer, Role::kController})
    if (subject.units[0] == name_of(role)) return role;
  return Role::kNone;
}

std::string identity_of(const Peer& peer) {
  return peer.role == Role::kAgent ? peer.common_name : std::string();
}

void identify(const Subject& subject, const trust::Certificate& certificate, Peer& peer) {
  peer.certificate = certificate.id;
  peer.certificate_until_unix = certificate.until_unix;
  const auto by_uri = trust::identity_in(certificate.uris);
  if (!by_uri) {
    peer.refusal = by_uri.error().message;
    return;
  }
  if (!*by_uri) {
    peer.role = role_of(subject);
    peer.common_name = subject.common_names.size() == 1 ? subject.common_names[0] : "";
    peer.who = peer.common_name;
    return;
  }
  peer.who = peer.common_name = (*by_uri)->name;
  for (const Role role : {Role::kAgent, Role::kOperator, Role::kViewer, Role::kController}) {
    const bool is_it = (*by_uri)->role == name_of(role);
    if (is_it) peer.role = role;
    if (is_it || std::ranges::find(subject.units, name_of(role)) == subject.units.end()) continue;
    peer.refusal =
        fmt::format("the certificate's URI says {}, its OU {}", (*by_uri)->role, name_of(role));
  }
  if (!peer.refusal.empty()) peer.role = Role::kNone;
}

namespace {

// Why a peer with another role is refused; `needed` names the roles.
tl::unexpected<Error> refused(const Peer& peer, std::string_view needed) {
  if (!peer.refusal.empty())
    return fail(Code::kPermissionDenied, fmt::format("{}: {}", peer.who, peer.refusal));
  return fail(Code::kPermissionDenied, fmt::format("{}: the certificate gives {}; {}", peer.who,
                                                   name_of(peer.role), needed));
}

}  // namespace

Status may_control(const Peer& peer, bool read_only) {
  const bool allowed = peer.role == Role::kAny || peer.role == Role::kOperator ||
                       (read_only && peer.role == Role::kViewer);
  if (allowed) return {};
  return refused(peer, read_only ? "this needs OU=operator or viewer" : "this needs OU=operator");
}

Status may_attach(const Peer& peer) {
  if (peer.role == Role::kAny || peer.role == Role::kAgent) return {};
  return refused(peer, "an agent needs OU=agent or the URI railgauge://agent/NODE");
}

Status may_administer(const Peer& peer) {
  if (peer.role == Role::kAny) return {};
  return refused(peer, "this needs the unix socket on the controller's host");
}

Status may_stand_by(const Peer& peer) {
  if (peer.role == Role::kAny || peer.role == Role::kController) return {};
  return refused(peer, "this needs OU=controller");
}

Status may_speak_for(const Peer& peer, const std::string& node_name) {
  RG_TRY_OK(may_attach(peer));
  if (peer.role == Role::kAny || peer.common_name == node_name) return {};
  return fail(Code::kPermissionDenied,
              fmt::format("the certificate is for {}, so it cannot speak for node {}; it needs "
                          "CN={} or the URI {}",
                          peer.who, node_name, node_name, trust::uri_of("agent", node_name)));
}

}  // namespace railgauge::auth
