"""Decision trees and random forests."""
