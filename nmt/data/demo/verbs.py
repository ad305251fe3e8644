"""Verbs of the demo corpus, as a table for `lexicon.py`.

A line of VERBS has five columns:

1. English base, third person, past (`-` where it looks like the base, so that German would have to guess the tense),
   participle; then a particle: `+for` stands before the object, `^on` after an object that is a pronoun;
2. German infinitive, third person, past, participle (all without the separable prefix); then `sein` if the perfect
   takes it, and the separable prefix in brackets;
3. frame: what the verb governs (see `lexicon.Verb`);
4. tags of the nouns that can be its object;
5. tags of the nouns that can be its subject, then `!` and what it is not used for: p perfect, m modals, n negation.
"""

VERBS = """
see sees saw seen | sehen sieht sah gesehen | acc | person animal vehicle sight | person animal
hear hears heard heard | hören hört hörte gehört | acc | song animal kid | person animal
read reads - read | lesen liest las gelesen | acc | print written | person
write writes wrote written | schreiben schreibt schrieb geschrieben | acc | written | person
buy buys bought bought | kaufen kauft kaufte gekauft | acc | goods food drink flower | person
sell sells sold sold | verkaufen verkauft verkaufte verkauft | acc | goods food | adult
find finds found found | finden findet fand gefunden | acc | small animal | person
lose loses lost lost | verlieren verliert verlor verloren | acc | small | person !m
look looks looked looked +for | suchen sucht suchte gesucht | acc | small animal kid | person !p
eat eats ate eaten | essen isst aß gegessen | acc | food | person
drink drinks drank drunk | trinken trinkt trank getrunken | acc | drink | person
need needs needed needed | brauchen braucht brauchte gebraucht | acc | goods small | person !pm
forget forgets forgot forgotten | vergessen vergisst vergaß vergessen | acc | small tale question | person !m
understand understands understood understood | verstehen versteht verstand verstanden | acc | question tale kin | person
love loves loved loved | lieben liebt liebte geliebt | acc | person animal song sight flower | person !pm
like likes liked liked | mögen mag mochte gemocht | acc | person animal text food drink flower | person !pm
have has had had | haben hat hatte gehabt | acc | goods animal car house garden | person !pm
clean cleans cleaned cleaned | putzen putzt putzte geputzt | acc | opening room | person
wash washes washed washed | waschen wäscht wusch gewaschen | acc | cloth vessel dish fruit car | person
repair repairs repaired repaired | reparieren repariert reparierte repariert | acc | repairable opening | person
carry carries carried carried | tragen trägt trug getragen | acc | luggage | person
wear wears wore worn | tragen trägt trug getragen | acc | cloth | person
paint paints painted painted | malen malt malte gemalt | acc | paint flower plant animal | person
cook cooks cooked cooked | kochen kocht kochte gekocht | acc | cookable | person
bake bakes baked baked | backen backt backte gebacken | acc | bakeable | person
sing sings sang sung | singen singt sang gesungen | acc | song | person
build builds built built | bauen baut baute gebaut | acc | house school church hotel bridge ship | adult
visit visits visited visited | besuchen besucht besuchte besucht | acc | person sight | person
ask asks asked asked | fragen fragt fragte gefragt | acc | person | person
call calls called called | rufen ruft rief gerufen [an] | acc | person | person
invite invites invited invited | laden lädt lud geladen [ein] | acc | person | person
pick picks picked picked ^up | holen holt holte geholt [ab] | acc | kid kin | adult kin
open opens opened opened | machen macht machte gemacht [auf] | acc | opening openable | person
close closes closed closed | machen macht machte gemacht [zu] | acc | opening openable | person
turn turns turned turned ^on | schalten schaltet schaltete geschaltet [ein] | acc | switch | person
turn turns turned turned ^off | schalten schaltet schaltete geschaltet [aus] | acc | switch | person
look looks looked looked +at | sehen sieht sah gesehen [an] | acc | show building animal flower | person
listen listens listened listened +to | hören hört hörte gehört [zu] | dat | person | person
help helps helped helped | helfen hilft half geholfen | dat | person | person
thank thanks thanked thanked | danken dankt dankte gedankt | dat | person | person
give gives gave given | geben gibt gab gegeben | dat acc | small goods food flower | person
show shows showed shown | zeigen zeigt zeigte gezeigt | dat acc | small text goods sight room | person
send sends sent sent | schicken schickt schickte geschickt | dat acc | mail | person
bring brings brought brought | bringen bringt brachte gebracht | dat acc | small food drink flower | person
tell tells told told | erzählen erzählt erzählte erzählt | dat acc | tale | person
put puts - put | stellen stellt stellte gestellt | acc put | stand | person
lay lays laid laid | legen legt legte gelegt | acc put | lay | person
wait waits waited waited | warten wartet wartete gewartet | for:auf:acc | person public | person animal
think thinks thought thought | denken denkt dachte gedacht | about:an:acc | person question | person
talk talks talked talked | sprechen spricht sprach gesprochen | to:mit:dat | person | person
sleep sleeps slept slept | schlafen schläft schlief geschlafen | place | - | person animal
work works worked worked | arbeiten arbeitet arbeitete gearbeitet | place | - | adult
live lives lived lived | wohnen wohnt wohnte gewohnt | town | - | person !p
sit sits sat sat | sitzen sitzt saß gesessen | place | - | person animal
stand stands stood stood | stehen steht stand gestanden | place | - | person animal !m
play plays played played | spielen spielt spielte gespielt | place | - | kid kin animal
wait waits waited waited | warten wartet wartete gewartet | place | - | person
laugh laughs laughed laughed | lachen lacht lachte gelacht | alone | - | person
cry cries cried cried | weinen weint weinte geweint | alone | - | person !m
dance dances danced danced | tanzen tanzt tanzte getanzt | place | - | person
stay stays stayed stayed | bleiben bleibt blieb geblieben sein | stay | - | person
go goes went gone | gehen geht ging gegangen sein | goal | - | person
travel travels travelled travelled | reisen reist reiste gereist sein | city | - | person
drive drives drove driven | fahren fährt fuhr gefahren sein | drive | - | adult kin
come comes came - | kommen kommt kam gekommen sein | origin | - | person
arrive arrives arrived arrived | kommen kommt kam gekommen sein [an] | arrival | - | person public
get gets got - ^up | stehen steht stand gestanden sein [auf] | alone | - | person
wake wakes woke woken ^up | wachen wacht wachte gewacht sein [auf] | alone | - | person
begin begins began begun | fangen fängt fing gefangen [an] | begin | - | show
cost costs - cost | kosten kostet kostete gekostet | price | - | goods food !pm
shine shines shone shone | scheinen scheint schien geschienen | sky | - | sky !pm
rain rains rained rained | regnen regnet regnete geregnet | sky | - | sky
be is was been | sein ist war gewesen sein | be | - | -
say says said said | sagen sagt sagte gesagt | that | - | person
believe believes believed believed | glauben glaubt glaubte geglaubt | that | - | person
hope hopes hoped hoped | hoffen hofft hoffte gehofft | that | - | person
know knows knew known | wissen weiß wusste gewusst | that | - | person
try tries tried tried | versuchen versucht versuchte versucht | try | - | person
"""
