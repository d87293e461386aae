package memory

import "strings"

// functionWords are the words that hold sentences together and say nothing of what they are about,
// as normalise writes them, in the languages most of our people write. A word that is also a
// name or a thing in one of them ("may", "will", "die" in English) is left out of the list:
// being common already makes it count for little.
var functionWords = wordSet(`
	a an and any are as at be been but by did do does for from had has have he her him his how i if in into is it its
	me my of on or our she so that the their them then there these they this those to us was we were what when where
	which who whom whose why with you your s t d ll re ve m about again please can could would should
	ask hey hello know remember say said sorry tell thanks told
	aber als am an auch auf aus bei bin bis das dass dein deine dem den denn der des dich dir doch du ein eine einem
	einen einer es fur hat hatte ich ihm ihn ihr im in ist ja kein keine man mein meine mich mir mit nach nicht noch
	nochmal nur oder ob sein seine sich sie sind so um und uns unser unsere vom von vor war waren was wann warum wem
	wen wer wie wir wo zu zum zur mal bitte weisst sag erinnerst
	au aux avec ce ces cette dans de des du elle elles en est et etait eux il ils j je l la le les leur lui ma mais mes
	moi mon n ne nos notre nous on ou par pas pour qu quand que quel quelle qui sa se ses son sur ta te tes toi ton tu
	un une vos votre vous y c
	al como con cual cuando del donde el ella ellos era es esta este esto fue ha la las le lo los mas me mi mis muy no
	nos o para pero por porque que quien se si sin sobre son su sus te tu tus un una unos y yo
	che chi ci come con cosa da dal della di dove e gli i il io le lei loro lui ma mi mio nel nella non o per perche
	quale quando qual questo sono sua sul suo ti tuo un una uno vi
	ao aos as da das de do dos e ela ele em era essa esse esta este eu foi isso ja mas meu minha na nao nas no nos os ou
	para pela pelo por qual quando que quem se sem seu sua um uma voce
	aan al als bij dan dat de deze die dit een en er haar heb heeft hem het hij hoe ik in is je kan maar me met mijn naar
	niet nog of om ons onze ook op te tot uit van voor waar wat we wel wie wij zij zijn
	att av den det detta du en ett fran for har hon hur i inte jag kan med men min mitt nar och om oss pa sig som till
	var vad vi ar
	ale bo by byl byla co czy dla do gdzie i ich jak jest jego jej ja kiedy ktory ktora mi moj na nie o od po przez sie ta
	tak ten to w z za ze
	а без был была были было в вас ваш во вот все вы где да для до его ее если же за и из или их к как когда который кто
	ли мне мои моя мы на нам не него нет ни но о об он она они от по при с свои со так там то ты у чем что это я
	の は が を に で と も へ か や 的 了 是 在 我 你 他 她 们 吗 呢 和 这 那 有 就 也 은 는 이 가 을 를 의 에 도 와 과
`)

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(normalise(list)) {
		set[word] = true
	}
	return set
}

// maxWords bounds a query: nobody types more, and what an agent recalls by itself may be a long message.
const maxWords = 32

// words cuts a query into what it is about: its words, each once, without function words, unless there
// are no others.
func words(query string) []string {
	var about, all []string
	seen := map[string]bool{}
	for word := range strings.FieldsSeq(normalise(query)) {
		if seen[word] {
			continue
		}
		seen[word] = true
		all = append(all, word)
		if !functionWords[word] {
			about = append(about, word)
		}
	}
	if len(about) == 0 {
		about = all
	}
	return about[:min(len(about), maxWords)]
}
