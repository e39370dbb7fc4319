// One fact of a node, or the reason for its absence. A fact that cannot be read never spoils its
// neighbours.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

namespace railgauge::agent {

// Whether a fact is known, and why not.
enum class FactState : std::uint8_t {
  kUnknown,  // not known: no privilege, no time, nobody asked. `reason` says which and the remedy
  kKnown,
  kAbsent,  // the node has no such thing: no file, no device
  kError,   // something is there, and it makes no sense or cannot be read; `reason` says what
};

// All of a fact but its value.
struct FactInfo {
  FactState state = FactState::kUnknown;
  std::string source{};  // path on the node ("/sys/module/nvidia/version") or call
  std::string reason{};  // one line; empty when absent, and when all of it is known

  [[nodiscard]] bool is_known() const { return state == FactState::kKnown; }
  [[nodiscard]] bool is_absent() const { return state == FactState::kAbsent; }
  // It may be there, and was not read: unknown or an error.
  [[nodiscard]] bool is_open() const { return !is_known() && !is_absent(); }
  // Takes over the state of `other` if that is open and this is not: a value then describes only a
  // part.
  void spoil_by(const FactInfo& other) {
    if (!is_open() && other.is_open()) *this = other;
  }
};

// A value with its source.
template <class T>
struct Fact : FactInfo {
  T value{};

  // The value where it is known, else `otherwise`.
  [[nodiscard]] T value_or(T otherwise) const { return is_known() ? value : std::move(otherwise); }
  [[nodiscard]] bool is(const T& expected) const { return is_known() && value == expected; }

  static Fact known(T value, std::string source) {
    return {{FactState::kKnown, std::move(source), {}}, std::move(value)};
  }
  static Fact absent(std::string source) {
    return {{FactState::kAbsent, std::move(source), {}}, T{}};
  }
  static Fact unknown(std::string source, std::string reason) {
    return {{FactState::kUnknown, std::move(source), std::move(reason)}, T{}};
  }
  static Fact error(std::string source, std::string reason) {
    return {{FactState::kError, std::move(source), std::move(reason)}, T{}};
  }
  // The same state, source and reason as a fact of another type.
  template <class U>
  [[nodiscard]] Fact<U> without_value() const {
    return {*this, U{}};
  }
  // `convert(value)` where this is known, else the same state without a value.
  template <class Convert>
  [[nodiscard]] auto as(Convert convert) const {
    using U = std::remove_cvref_t<decltype(convert(value))>;
    return Fact<U>{*this, is_known() ? U(convert(value)) : U{}};
  }
};

}  // namespace railgauge::agent
