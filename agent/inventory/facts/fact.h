// One fact of a node, or the reason for its absence. A fact that cannot be read never spoils its
// neighbours.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace railgauge::agent {

// Whether a fact is known, and why not.
enum class FactState : std::uint8_t {
  kUnknown,  // not known: no privilege, no time, nobody asked. `reason` says which and the remedy
  kKnown,
  kAbsent,  // the node has no such thing: no file, no device
  kError,   // something is there, and it makes no sense or cannot be read; `reason` says what
};

// A value with its source.
template <class T>
struct Fact {
  T value{};
  FactState state = FactState::kUnknown;
  std::string source{};  // path on the node ("/sys/module/nvidia/version") or call
  std::string reason{};  // one line; empty when absent, and when all of it is known

  [[nodiscard]] bool is_known() const { return state == FactState::kKnown; }
  [[nodiscard]] bool is_absent() const { return state == FactState::kAbsent; }
  // It may be there, and was not read: unknown or an error.
  [[nodiscard]] bool is_open() const { return !is_known() && !is_absent(); }
  // The value where it is known, else `otherwise`.
  [[nodiscard]] T value_or(T otherwise) const { return is_known() ? value : std::move(otherwise); }
  [[nodiscard]] bool is(const T& expected) const { return is_known() && value == expected; }

  static Fact known(T value, std::string source) {
    return {std::move(value), FactState::kKnown, std::move(source), {}};
  }
  static Fact absent(std::string source) {
    return {T{}, FactState::kAbsent, std::move(source), {}};
  }
  static Fact unknown(std::string source, std::string reason) {
    return {T{}, FactState::kUnknown, std::move(source), std::move(reason)};
  }
  static Fact error(std::string source, std::string reason) {
    return {T{}, FactState::kError, std::move(source), std::move(reason)};
  }
  // Takes over the state of `other` if that is open and this is not: the value then describes only
  // a part.
  template <class U>
  void spoil_by(const Fact<U>& other) {
    if (is_open() || !other.is_open()) return;
    state = other.state;
    source = other.source;
    reason = other.reason;
  }
  // The same state, source and reason as a fact of another type.
  template <class U>
  [[nodiscard]] Fact<U> without_value() const {
    return {U{}, state, source, reason};
  }
};

}  // namespace railgauge::agent
