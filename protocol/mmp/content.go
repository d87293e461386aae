package mmp

import (
	"strings"
)

// SignContent signs a deposited skill's bytes; VerifyContent checks that. The bytes
// may be somebody else's work, so a text that would be a proof under this key is not
// signed as a skill.
func SignContent(k *PrivateKey, content string) (string, error) {
	_, notObject := splitObject([]byte(content))
	if strings.HasPrefix(content, "MMP-") || notObject == nil {
		return "", ErrNoSkill
	}
	return k.Sign([]byte(content))
}

// VerifyContent checks a deposit's signature over its content.
func VerifyContent(k *PublicKey, content, signature string) error {
	return k.Verify([]byte(content), signature)
}
